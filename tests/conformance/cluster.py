"""A case's cluster in the pure core: cache, snapshot and one algorithm a profile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from scheduler.api.decoding import DECODERS, decode_node, decode_pod
from scheduler.api.types import Pod
from scheduler.config.loading import parse_configuration
from scheduler.config.plugin_args import GROUP_VERSION
from scheduler.config.plugin_names import IN_TREE_PLUGINS, ExtensionPoint
from scheduler.config.resolution import ProfilePlugins
from scheduler.config.types import KIND
from scheduler.core.algorithm import ScheduleAlgorithm
from scheduler.core.cache.cluster_objects import ClusterObjects
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.best_rows import Rng
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import Handle
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.registry import IN_TREE
from tests.conformance.case import Case
from tests.unit.core.framework.profiles import no_api_server

_KNOWN: Final = {name: replace(info, supported=True) for name, info in IN_TREE_PLUGINS.items()}
"""All of kube-scheduler's: a case may name what we lack, which then shows as a difference, not as a fault."""

OBJECT_KINDS: Final = frozenset(kind.__name__ for kind in ClusterObjects().kinds())
_FINISHED: Final = ("Succeeded", "Failed")


class Kind(msgspec.Struct):
    """What tells how to decode an object."""

    kind: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile at work."""

    framework: Framework
    algorithm: ScheduleAlgorithm


class Cluster:
    """The state that carries over from one pod of a case to the next. Objects that no plugin reads yet are passed over.

    Attributes:
        placed: namespace/name of pending pods that were placed since.
        evicted: likewise, that fell to a preemption.
        nominator: who holds room where.
    """

    def __init__(self, case: Case, rng: Rng) -> None:
        self.placed: set[str] = set()
        self.evicted: set[str] = set()
        state = ClusterState()
        self._cache, self.nominator = state.cache, state.nominator
        self.snapshot = Snapshot(state)
        self._uids: dict[str, str] = {}
        self._pending: dict[str, PodInfo] = {}
        self._profiles = {
            name: Profile(framework, ScheduleAlgorithm(self.snapshot, framework, rng))
            for name, framework in frameworks_of(case.config, no_api_server(state)).items()
        }
        self._listed = frozenset(case.pods)
        read_kind = msgspec.json.Decoder(Kind).decode
        for raw in case.objects:
            kind = read_kind(raw).kind
            if kind == "Node":
                self._cache.add_node(decode_node(bytes(raw)))
            elif kind == "Pod":
                self._add_pod(decode_pod(bytes(raw)))
            elif kind in OBJECT_KINDS:
                state.objects.set(DECODERS[kind](bytes(raw)))

    def snapshot_now(self) -> Snapshot:
        """The snapshot, brought up to date."""
        self.snapshot.refresh()
        return self.snapshot

    @contextmanager
    def nominations_kept(self) -> Iterator[None]:
        """Whatever is nominated or withdrawn meanwhile is undone afterwards."""
        nominator = self.nominator
        before = [(pod, node) for node in nominator.nodes() for pod in nominator.on_node(node)]
        yield
        nominator.clear()
        for pod, node in before:
            nominator.add(pod, node)
        self.snapshot.refresh()

    def pending(self, name: str) -> PodInfo:
        """A pod that is not on a node."""
        return self._pending[name]

    def profile_of(self, pod: PodInfo) -> Profile:
        """The profile that the pod's schedulerName asks for, else the first."""
        first = next(iter(self._profiles.values()))
        return self._profiles.get(pod.pod.spec.scheduler_name or "", first)

    def nominate(self, name: str, node_name: str) -> None:
        """Nominate the pod to the node and withdraw what is nominated there with a lower priority."""
        pod = self._pending[name]
        for other in list(self.nominator.on_node(node_name)):
            if other.priority < pod.priority:
                self.nominator.remove(other.uid)
        self.nominator.add(pod, node_name)

    def withdraw(self, name: str) -> None:
        """End the pod's nomination."""
        self.nominator.remove(self._pending[name].uid)

    def evict(self, name: str) -> None:
        """The pod vanishes from its node."""
        self._cache.remove_pod(self._uids[name])
        self.evicted.add(name)

    def place(self, name: str, node_name: str, state: CycleState) -> Status | None:
        """Assume the pod, let the plugins reserve what it needs, and the watch confirm it; forgotten if one can't.

        Args:
            state: of the decision.
        """
        pending = self._pending[name]
        framework = self.profile_of(pending).framework
        self._cache.assume_pod(pending, node_name)
        status = framework.reserve(state, pending, node_name)
        if status is not None:
            framework.unreserve(state, pending, node_name)
            self._cache.forget_pod(pending.uid)
            return status
        del self._pending[name]
        self.nominator.remove(pending.uid)
        pod = pending.pod
        bound = replace(
            pod,
            spec=replace(pod.spec, node_name=node_name),
            status=replace(pod.status, nominated_node_name=None),
        )
        self._cache.add_pod(parse_pod(bound), node_name)
        self.placed.add(name)
        return None

    def _add_pod(self, pod: Pod) -> None:
        if pod.status.phase in _FINISHED:
            return
        info = parse_pod(pod)
        self._uids[info.key] = info.uid
        if pod.spec.node_name:
            self._cache.add_pod(info, pod.spec.node_name)
            return
        self._pending[info.key] = info
        nominated = pod.status.nominated_node_name
        if nominated and (info.key in self._listed or pod.spec.scheduler_name in self._profiles):
            self.nominator.add(info, nominated)


def frameworks_of(config: dict[str, Any] | None, handle: Handle) -> dict[str, Framework]:
    """By schedulerName, in the order of the configuration. `UnsupportedFeatures` takes no part: differences show."""
    document = {"apiVersion": GROUP_VERSION, "kind": KIND, "profiles": [{}]} | (config or {})
    # What kube-scheduler calls a profile that has no name.
    document["profiles"] = [{"schedulerName": "default-scheduler"} | profile for profile in document["profiles"]]
    loaded = parse_configuration(msgspec.json.encode(document), source="config", take_over=True, known=_KNOWN)
    frameworks: dict[str, Framework] = {}
    for profile in loaded.configuration.profiles:
        name = str(profile.scheduler_name)
        args = {entry.name: entry.args for entry in profile.plugin_config if entry.args is not None}
        plugins = _that_we_have(loaded.plugins[name])
        frameworks[name] = Framework(name, plugins, args, IN_TREE, handle, SilentRecorder())
    return frameworks


def _that_we_have(plugins: ProfilePlugins) -> ProfilePlugins:
    present = {point.value: tuple(name for name in plugins.at(point) if name in IN_TREE) for point in ExtensionPoint}
    return replace(plugins, **present)
