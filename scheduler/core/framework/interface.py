"""The contracts between the framework and its plugins.

One method an extension point, in the order in which a pod meets them: PreEnqueue, QueueSort, PreFilter, Filter,
PostFilter, PreScore, Score (and normalisation), Reserve, Permit, PreBind, Bind, PostBind. A plugin is one object that
implements some of these classes; its `name` is what stands in a KubeSchedulerConfiguration.

Two rules make cycles fast, and every plugin keeps them:

* **Columns, not loops.** `FilterPlugin.filter` and `ScorePlugin.score` are asked once about many nodes and answer
  with an array. `snapshot.nodes` (`NodeColumns`) gives whole columns; `rows` says which of them are asked about.
* **Work follows change.** A plugin says by its signature which fields of the pod it reads and by `depends` what else
  its answer depends on. The framework keeps answers for pods of equal signature and asks again only about rows that
  changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo, QueuedPodInfo, RowIndex

if TYPE_CHECKING:
    from scheduler.api.types import PersistentVolume, PersistentVolumeClaim
    from scheduler.core.cache.cluster_state import ClusterState
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.best_rows import Rng
    from scheduler.core.framework.cycle_state import CycleState
    from scheduler.core.framework.recorder import CycleRecorder
    from scheduler.core.framework.row_check import RowCheck

_ANY_EVENT = RegisteredEvent(ClusterEvent(EventResource.WILDCARD, Action.ALL, "*"))
_ONE_FEASIBLE = np.ones(1, np.bool_)

MAX_NODE_SCORE = 100
"""Highest score of a node after normalisation; the lowest is 0."""

Rows: TypeAlias = "RowIndex | slice"
"""Rows asked about: a slice over all of them, or an index array."""


class Depends(Enum):
    """What a plugin's answer about a node depends on, beside the pod's signature."""

    NODE = "the Node object alone"
    ROW = "the Node object and the pods on it"
    CLUSTER = "anything in the cluster: asked anew in every cycle"

    # Members are looked up in dicts in every cycle, and Enum's own hash is that of the name.
    __hash__ = object.__hash__


class Plugin(ABC):
    """What every plugin has. Instances are made once per profile at start and live as long as it."""

    name: ClassVar[str]
    depends: ClassVar[Depends] = Depends.CLUSTER

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """The cluster events that may make a pod schedulable which this plugin rejected. Asked once, at start.

        By default every event may.
        """
        return (_ANY_EVENT,)

    def hint_signature(self, pod: PodInfo) -> Hashable | None:
        """What of a waiting pod the plugin's hints read; None, the default, has each pod asked about by itself.

        Waiting pods of equal signature are asked about as one, so that an event costs a call for each kind of pod and
        not for each pod. Called when the pod is parked or changes; as the pod is alive while it is parked, identities
        of shared parts may be part of it. Hints of TARGET_POD events are about one pod and may read what they like.
        """
        return None


class PreEnqueuePlugin(Plugin):
    """Holds pods back from the active queue."""

    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """None lets the pod into the active queue; a status gates it, without an attempt or an event.

        Called whenever the pod is about to enter the active or backoff queue; must be cheap.
        """


class QueueSortPlugin(Plugin):
    """Orders the active queue. Exactly one a profile, the same in all profiles."""

    @abstractmethod
    def sort_key(self, queued: QueuedPodInfo) -> tuple[int | float, ...]:
        """The pod's place in the active queue: smaller comes first. Called at each entry into the queue."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Nodes that may be considered at all; the framework intersects the sets of all plugins."""

    node_names: frozenset[str]


class PreFilterPlugin(Plugin):
    """Looks at the pod before any node is looked at.

    Attributes:
        pre_filtered_pods: pods it was asked about and did not skip; counted by the framework.
    """

    pre_filtered_pods: int = 0

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """Narrow the nodes, reject the pod, or neither.

        A status of code SKIP leaves the plugin's Filter out of this cycle; UNSCHEDULABLE_AND_UNRESOLVABLE ends the
        cycle at once, UNSCHEDULABLE after the other PreFilter plugins. A plugin whose `depends` is not CLUSTER is asked
        once for each filter signature, and not at all when that signature is None.
        """


class FilterPlugin(Plugin):
    """Rejects nodes.

    Attributes:
        reads_sums_only: whether of the pods on a node `filter` reads nothing but their number and what they request in
            sum of the resources that the pod itself requests. Preemption then tries many nodes at once.
        filtered_rows: rows that it was asked about; counted by the framework.
    """

    reads_sums_only: ClassVar[bool] = False
    filtered_rows: int = 0

    @abstractmethod
    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """What of the pod `filter` reads; None when the plugin rejects no node for this pod.

        Pods of equal signature get equal answers while what `depends` names is unchanged. The framework keeps a pod of
        each signature alive, so the identity of a shared sub-object may be part of it. Called once per attempt; must be
        cheap.
        """

    @abstractmethod
    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """A verdict a row (int32, same length as `rows`).

        0 passes, positive is Unschedulable (removing pods may help), negative is UnschedulableAndUnresolvable. The
        magnitude is the plugin's own code of what was wrong; `status` reads it.
        """

    def filter_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """`filter` for one row.

        Worth overriding where the answer depends on the pods of a row: one row changes with every placement, and plain
        integers beat arrays up to about ten rows.
        """
        return int(self.filter(state, pod, snapshot, np.array([row]))[0])

    def rows_changed_by_removals(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> Collection[int] | None:
        """Rows on which `filter` may answer otherwise once pods there of lower priority than `pod` are gone.

        None, the default, where that may be any row. Preemption tries those one by one, and many of the others at once.
        Not asked where `reads_sums_only` says that sums are all that counts.
        """
        return None

    @abstractmethod
    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The status that a non-zero `verdict` of `filter` about this pod stands for. Pure; called on demand."""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that found no node, as PostFilter plugins get it.

    Attributes:
        check: the pod's filters, to be asked about single rows, also on an overlay.
        rows: nodes on which removing pods may help.
        filters: the profile's filter plugins, which a check's answers index.
        rng: for choices where nothing else decides.
    """

    state: CycleState
    pod: PodInfo
    snapshot: Snapshot
    check: RowCheck
    rows: RowIndex
    filters: Sequence[FilterPlugin]
    rng: Rng
    recorder: CycleRecorder


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What a PostFilter plugin came to.

    Attributes:
        status: why there is nothing to be done; None once room was found, or where nobody was asked.
        message: what the pod's condition says of it.
        node_name: the node to nominate the pod to; None for none.
        victims: pods to be evicted from it.
        clears_nomination: whether a nomination that the pod has from before is void.
    """

    status: Status | None = None
    message: str = ""
    node_name: str | None = None
    victims: tuple[PodInfo, ...] = ()
    clears_nomination: bool = False


class PostFilterPlugin(Plugin):
    """Makes room for a pod that fits nowhere."""

    @abstractmethod
    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Called after a failed Filter or PreFilter; the first plugin that finds room ends it."""


class Normalize(Enum):
    """How raw scores become 0..100 over the feasible nodes."""

    NONE = "raw scores are 0..100 already"
    DEFAULT = "100 * raw / max; unchanged when max is 0"
    REVERSED = "100 - 100 * raw / max; 100 for all when max is 0"
    OWN = "the plugin's normalize method"


class ScorePlugin(Plugin):
    """Ranks feasible nodes.

    Attributes:
        scored_rows: rows that it was asked about; counted by the framework.
    """

    normalization: ClassVar[Normalize] = Normalize.NONE
    scored_rows: int = 0

    @abstractmethod
    def score_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """Like `filter_signature`, for `score`; None (PreScore Skip) makes the plugin add 0 to every node."""

    @abstractmethod
    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """Raw scores (int64, same length as `rows`).

        `feasible` (over all rows) is meaningful only to plugins whose `depends` is CLUSTER.
        """

    def score_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """`score` for one feasible row; see `FilterPlugin.filter_row`."""
        return int(self.score(state, pod, snapshot, np.array([row]), _ONE_FEASIBLE)[0])

    def normalize(self, state: CycleState, raw: IntArray, feasible: BoolArray) -> IntArray:
        """Scores 0..100 from raw ones over all rows; called where `normalization` is OWN."""
        raise NotImplementedError(f"{self.name} declares its own normalisation but has none")


class ReservePlugin(Plugin):
    """Keeps something for a pod from its placement until it is bound."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Set aside what the pod needs on the node; a status un-reserves all plugins and fails the attempt."""

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Give it back, whether or not `reserve` was reached. Must not raise; called in reverse order."""


class PreBindPlugin(Plugin):
    """Does what must be done before the pod is bound."""

    @abstractmethod
    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Runs in the binding cycle and may wait; a status (or an exception) fails the attempt and forgets the pod."""


class BindPlugin(Plugin):
    """Binds."""

    @abstractmethod
    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod, or say SKIP to leave it to the next bind plugin; any other status fails the attempt."""


class PostBindPlugin(Plugin):
    """Is told of bound pods."""

    @abstractmethod
    async def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """The pod is bound; nothing returned here changes that."""


class Binder(ABC):
    """Binds pods; implemented by the shell."""

    @abstractmethod
    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Write the Binding through the API server; None once the pod is known to be bound to the node."""


class VolumeWriteError(Exception):
    """A volume or claim could not be written as was decided; the text says why."""


class VolumeWriter(ABC):
    """Writes what was decided about volumes, and waits for what comes of it; implemented by the shell."""

    @abstractmethod
    async def bind_volume(self, volume: PersistentVolume) -> PersistentVolume:
        """Write the volume's claim reference and annotations if it is still the version given; the volume as it is now.

        Raises:
            VolumeWriteError: it is known not to say so.
        """

    @abstractmethod
    async def select_node(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Write the claim's annotations, if it is still the version given; the claim as it is now.

        Raises:
            VolumeWriteError: it is known not to say so.
        """

    @abstractmethod
    async def until(
        self, settled: Callable[[], bool], claims: Sequence[tuple[str, str]], timeout_seconds: float
    ) -> bool:
        """Wait until `settled` says yes; False when that takes too long.

        It is asked again as the claims (namespace and name) change, and now and then.

        What `settled` raises ends the wait.
        """


@dataclass(frozen=True, slots=True)
class Handle:
    """What a plugin may reach beside the arguments of its methods; given to its factory.

    Attributes:
        cluster: what is known at this moment. For queueing hints; a cycle reads its snapshot.
        binder: binds pods.
        volume_writer: binds volumes.
    """

    cluster: ClusterState
    binder: Binder
    volume_writer: VolumeWriter
