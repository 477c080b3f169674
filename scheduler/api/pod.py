"""Pod: what it asks for, where it may run, and what is known of it."""

from datetime import datetime

from msgspec import field

from scheduler.api.meta import ApiStruct, LabelSelector, ObjectMeta, ResourceList
from scheduler.api.volumes import Volume

NOMINATED_NODE_ANNOTATION = "scheduler.kubernetes.io/nominated-node-name"
MIRROR_POD_ANNOTATION = "kubernetes.io/config.mirror"
READ_ANNOTATIONS = (NOMINATED_NODE_ANNOTATION, MIRROR_POD_ANNOTATION)
"""The annotations of a pod that are kept."""


class NodeSelectorRequirement(ApiStruct, frozen=True):
    """One condition on a node's label or field; operators In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class NodeSelectorTerm(ApiStruct, frozen=True):
    """All its conditions must hold; an empty term matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] | None = None
    match_fields: tuple[NodeSelectorRequirement, ...] | None = None


class NodeSelector(ApiStruct, frozen=True):
    """One of the terms must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(ApiStruct, frozen=True):
    """A wish for nodes; `weight` 1 to 100."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiStruct, frozen=True):
    """Demands and wishes about nodes."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] | None = None


class PodAffinityTerm(ApiStruct, frozen=True):
    """Pods chosen by label and namespace, and the node label whose equal values make a topology."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class WeightedPodAffinityTerm(ApiStruct, frozen=True):
    """A wish about pods; `weight` 1 to 100."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiStruct, frozen=True):
    """Pods to be near to."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] | None = None


class PodAntiAffinity(ApiStruct, frozen=True):
    """Pods to be away from."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] | None = None


class Affinity(ApiStruct, frozen=True):
    """The three affinities of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(ApiStruct, frozen=True):
    """Taints the pod bears; operator Equal when absent, every key or effect when that is absent."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class TopologySpreadConstraint(ApiStruct, frozen=True):
    """How unevenly matching pods may lie over the values of a node label."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None


class PodSchedulingGate(ApiStruct, frozen=True):
    """A named reason not to be scheduled yet."""

    name: str = ""


class ResourceClaim(ApiStruct, frozen=True):
    """A container's use of one of the pod's resource claims."""

    name: str = ""
    request: str | None = None


class ResourceRequirements(ApiStruct, frozen=True):
    """What a container or a whole pod asks for and may use at most."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None
    claims: tuple[ResourceClaim, ...] | None = None


class ContainerPort(ApiStruct, frozen=True):
    """A port; it takes part in scheduling when `host_port` is above 0."""

    container_port: int = 0
    host_port: int | None = None
    host_ip: str | None = field(default=None, name="hostIP")
    protocol: str | None = None


class ContainerRestartRule(ApiStruct, frozen=True):
    """What happens when the container exits; only the action matters to where the pod may run."""

    action: str = ""


class Container(ApiStruct, frozen=True):
    """A container; an init container with `restart_policy` Always is a sidecar."""

    name: str = ""
    image: str | None = None
    resources: ResourceRequirements | None = None
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] | None = None


class PodResourceClaim(ApiStruct, frozen=True):
    """A resource claim that must be there before the pod starts."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(ApiStruct, frozen=True):
    """The PodGroup that the pod is to be placed with, all or none."""

    pod_group_name: str | None = None


class PodSpec(ApiStruct, frozen=True):
    """What the pod asks for.

    `volumes` holds only those of a kind that some plugin reads (`scheduler.api.volumes.READ_KINDS`); `volume_kinds`,
    made when the pod is decoded, names the kinds of all of them.
    """

    node_name: str | None = None
    scheduler_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    volumes: tuple[Volume, ...] | None = None
    volume_kinds: frozenset[str] = frozenset()
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    termination_grace_period_seconds: int | None = None
    scheduling_group: PodSchedulingGroup | None = None


class PodCondition(ApiStruct, frozen=True):
    """A condition of the pod, without its times, so that equal ones are one object."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class ContainerStatus(ApiStruct, frozen=True):
    """What the node gave a container: `allocated_resources` promised, `resources` in force."""

    name: str = ""
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None


class PodStatus(ApiStruct, frozen=True):
    """What is known of the pod. `allocated_resources` and `resources` are those of the pod as a whole."""

    phase: str | None = None
    reason: str | None = None
    conditions: tuple[PodCondition, ...] | None = None
    nominated_node_name: str | None = None
    start_time: datetime | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None


class Pod(ApiStruct, frozen=True):
    """A pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


def nominated_node(pod: Pod) -> str | None:
    """The node a pending pod says it is nominated to: by its status, or by the annotation where only that is set.

    Whoever creates a pod may write the annotation, so it proves nothing: no room is held by it.
    """
    return pod.status.nominated_node_name or (pod.metadata.annotations or {}).get(NOMINATED_NODE_ANNOTATION) or None
