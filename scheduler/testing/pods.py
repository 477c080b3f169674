"""Pods in one line: `make_pod("web-0").req(cpu="1", memory="1Gi").label(app="web").priority(10).obj()`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from scheduler.api.meta import ObjectMeta, OwnerReference, Quantity
from scheduler.api.pod import (
    Affinity,
    Container,
    ContainerPort,
    Pod,
    PodCondition,
    PodResourceClaim,
    PodSchedulingGate,
    PodSchedulingGroup,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from scheduler.api.volumes import PersistentVolumeClaimVolumeSource, Volume


def make_pod(name: str) -> PodBuilder:
    """A pending pod of namespace `default` for the scheduler `podium`, with one container that requests nothing."""
    return PodBuilder(
        Pod(ObjectMeta(name, "default", resource_version="1"), PodSpec(scheduler_name="podium"), PodStatus("Pending"))
    )


class PodBuilder:
    """A pod in the making. Each method gives a new builder, so a half-made pod may be the start of several."""

    __slots__ = ("_pod",)

    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    def obj(self) -> Pod:
        """The finished pod; its uid follows from namespace and name unless it was given."""
        pod, metadata = self._pod, self._pod.metadata
        if not pod.spec.containers:
            pod = self.container().obj()
        if not metadata.uid:
            pod = replace(pod, metadata=replace(metadata, uid=f"uid-of-{metadata.namespace}-{metadata.name}"))
        return pod

    def namespace(self, namespace: str) -> PodBuilder:
        """Sets the namespace."""
        return self._metadata(namespace=namespace)

    def uid(self, uid: str) -> PodBuilder:
        """Sets the uid."""
        return self._metadata(uid=uid)

    def resource_version(self, resource_version: str) -> PodBuilder:
        """Sets the version of the object."""
        return self._metadata(resource_version=resource_version)

    def generation(self, generation: int) -> PodBuilder:
        """Sets the generation, which grows with every change of the spec."""
        return self._metadata(generation=generation)

    def label(self, labels: Mapping[str, str] | None = None, /, **named: str) -> PodBuilder:
        """Adds labels: `label({"app.kubernetes.io/name": "shop"}, tier="web")`."""
        return self._metadata(labels={**(self._pod.metadata.labels or {}), **(labels or {}), **named})

    def annotation(self, key: str, value: str) -> PodBuilder:
        """Adds an annotation."""
        return self._metadata(annotations={**(self._pod.metadata.annotations or {}), key: value})

    def owner(self, kind: str, name: str, api_version: str = "apps/v1") -> PodBuilder:
        """Sets the controller that owns the pod."""
        reference = OwnerReference(api_version, kind, name, f"uid-of-{name}", controller=True)
        return self._metadata(owner_references=(reference,))

    def created(self, at: datetime) -> PodBuilder:
        """Sets the creation time."""
        return self._metadata(creation_timestamp=at)

    def terminating(self, since: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> PodBuilder:
        """Marks the pod as being deleted."""
        return self._metadata(deletion_timestamp=since)

    def req(self, resources: Mapping[str, Quantity] | None = None, /, **named: Quantity) -> PodBuilder:
        """Adds a container that requests these: `req({"nvidia.com/gpu": 1}, cpu="1", memory="1Gi")`."""
        return self.container(requests={**(resources or {}), **named})

    def init_req(self, resources: Mapping[str, Quantity] | None = None, /, **named: Quantity) -> PodBuilder:
        """Adds an init container that requests these."""
        return self._init_container({**(resources or {}), **named}, None)

    def sidecar_req(self, resources: Mapping[str, Quantity] | None = None, /, **named: Quantity) -> PodBuilder:
        """Adds an init container that keeps running, with these requests."""
        return self._init_container({**(resources or {}), **named}, "Always")

    def container(
        self,
        image: str | None = None,
        requests: Mapping[str, Quantity] | None = None,
        ports: tuple[ContainerPort, ...] | None = None,
    ) -> PodBuilder:
        """Adds a container."""
        containers = self._pod.spec.containers
        resources = None if requests is None else ResourceRequirements(dict(requests))
        added = Container(f"container-{len(containers)}", image, resources, ports)
        return self._spec(containers=(*containers, added))

    def host_port(self, port: int, protocol: str | None = None, ip: str | None = None) -> PodBuilder:
        """Adds a container that takes a port of the node."""
        return self.container(ports=(ContainerPort(port, port, ip, protocol),))

    def pod_level_req(self, resources: Mapping[str, Quantity] | None = None, /, **named: Quantity) -> PodBuilder:
        """Sets the requests of the pod as a whole."""
        return self._spec(resources=ResourceRequirements({**(resources or {}), **named}))

    def overhead(self, resources: Mapping[str, Quantity] | None = None, /, **named: Quantity) -> PodBuilder:
        """Sets what running the pod takes beside its containers."""
        return self._spec(overhead={**(resources or {}), **named})

    def node(self, name: str) -> PodBuilder:
        """Binds the pod to a node."""
        return self._spec(node_name=name)

    def scheduler_name(self, name: str) -> PodBuilder:
        """Names the scheduler that is to place the pod."""
        return self._spec(scheduler_name=name)

    def priority(self, priority: int) -> PodBuilder:
        """Sets the priority."""
        return self._spec(priority=priority)

    def preemption_policy(self, policy: str) -> PodBuilder:
        """Sets the policy: Never or PreemptLowerPriority."""
        return self._spec(preemption_policy=policy)

    def node_selector(self, labels: Mapping[str, str] | None = None, /, **named: str) -> PodBuilder:
        """Adds labels that the node must carry."""
        return self._spec(node_selector={**(self._pod.spec.node_selector or {}), **(labels or {}), **named})

    def affinity(self, affinity: Affinity) -> PodBuilder:
        """Sets the affinity, as the types of `scheduler.api.types` say it."""
        return self._spec(affinity=affinity)

    def spread(self, *constraints: TopologySpreadConstraint) -> PodBuilder:
        """Adds topology spread constraints."""
        present = self._pod.spec.topology_spread_constraints or ()
        return self._spec(topology_spread_constraints=(*present, *constraints))

    def toleration(
        self, key: str | None = None, operator: str | None = None, value: str | None = None, effect: str | None = None
    ) -> PodBuilder:
        """Adds a toleration."""
        added = Toleration(key, operator, value, effect)
        return self._spec(tolerations=(*(self._pod.spec.tolerations or ()), added))

    def scheduling_gate(self, name: str) -> PodBuilder:
        """Adds a scheduling gate."""
        return self._spec(scheduling_gates=(*(self._pod.spec.scheduling_gates or ()), PodSchedulingGate(name)))

    def pvc(self, claim_name: str) -> PodBuilder:
        """Adds a volume that is a claim of the pod's namespace."""
        source = PersistentVolumeClaimVolumeSource(claim_name)
        volumes = self._pod.spec.volumes or ()
        return self.volume(Volume(f"volume-{len(volumes)}", persistent_volume_claim=source))

    def volume(self, volume: Volume) -> PodBuilder:
        """Adds a volume of a kind that some plugin reads."""
        volumes = self._pod.spec.volumes or ()
        kinds = self._pod.spec.volume_kinds | (msgspec.to_builtins(volume).keys() - {"name"})
        return self._spec(volumes=(*volumes, volume), volume_kinds=kinds)

    def volume_kind(self, kind: str) -> PodBuilder:
        """Notes that the pod has a volume of a kind that no plugin reads, such as emptyDir or nfs."""
        return self._spec(volume_kinds=self._pod.spec.volume_kinds | {kind})

    def resource_claim(self, name: str) -> PodBuilder:
        """Adds a resource claim."""
        claims = self._pod.spec.resource_claims or ()
        return self._spec(resource_claims=(*claims, PodResourceClaim(name, resource_claim_name=name)))

    def scheduling_group(self, pod_group_name: str) -> PodBuilder:
        """Makes the pod one of a PodGroup."""
        return self._spec(scheduling_group=PodSchedulingGroup(pod_group_name))

    def phase(self, phase: str) -> PodBuilder:
        """Sets the phase, which otherwise is Pending."""
        return self._status(phase=phase)

    def started(self, at: datetime) -> PodBuilder:
        """Sets the time at which the node took the pod."""
        return self._status(start_time=at)

    def nominated_node(self, name: str) -> PodBuilder:
        """Sets the node that is being cleared for the pod."""
        return self._status(nominated_node_name=name)

    def condition(self, kind: str, status: str, reason: str | None = None, message: str | None = None) -> PodBuilder:
        """Adds a condition."""
        added = PodCondition(kind, status, reason, message)
        return self._status(conditions=(*(self._pod.status.conditions or ()), added))

    def _init_container(self, requests: dict[str, Quantity], restart_policy: str | None) -> PodBuilder:
        present = self._pod.spec.init_containers or ()
        resources = ResourceRequirements(requests)
        added = Container(f"init-{len(present)}", resources=resources, restart_policy=restart_policy)
        return self._spec(init_containers=(*present, added))

    def _metadata(self, **changes: object) -> PodBuilder:
        return PodBuilder(replace(self._pod, metadata=replace(self._pod.metadata, **changes)))

    def _spec(self, **changes: object) -> PodBuilder:
        return PodBuilder(replace(self._pod, spec=replace(self._pod.spec, **changes)))

    def _status(self, **changes: object) -> PodBuilder:
        return PodBuilder(replace(self._pod, status=replace(self._pod.status, **changes)))
