"""Chooses nodes by what volumes they reach or can get, and gets them bound before the pod is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from scheduler.api.storage import is_bound
from scheduler.config.plugin_args import VolumeBindingArgs
from scheduler.core.cache.cluster_objects import AssumptionError
from scheduler.core.framework.broken_line import scores_by_percent
from scheduler.core.framework.events import RegisteredEvent
from scheduler.core.framework.interface import (
    FilterPlugin,
    Handle,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    Rows,
    ScorePlugin,
    VolumeWriteError,
)
from scheduler.core.framework.status import Code, PluginError, Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo
from scheduler.core.volumes.capacity_score import capacity_scores
from scheduler.core.volumes.node_volumes import NO_ROOM, UNBINDABLE, UNREACHABLE, VOLUME_GONE, NodeVolumes, VolumeFinder
from scheduler.core.volumes.pod_claims import ClassError, PodClaims, claims_of, problem
from scheduler.core.volumes.reservation import Reservation, reserve
from scheduler.core.volumes.settlement import BindingFailed, settled
from scheduler.core.volumes.waking import waking_events

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

_REASONS: Final = {
    UNREACHABLE: "node(s) didn't match PersistentVolume's node affinity",
    UNBINDABLE: "node(s) didn't find available persistent volumes to bind",
    NO_ROOM: "node(s) did not have enough free storage",
    VOLUME_GONE: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
_SKIP: Final = Status.of(Code.SKIP)


@dataclass(slots=True)
class _Cycle:
    """What the plugin knows of a pod with claims.

    Attributes:
        reservation: what is set aside for it; None when all its claims are bound.
    """

    claims: PodClaims
    found: NodeVolumes
    nodes: NodeColumns
    reservation: Reservation | None = None


class VolumeBinding(PreFilterPlugin, FilterPlugin, ScorePlugin, ReservePlugin, PreBindPlugin):
    """Filter: nodes that don't reach a bound volume, or where a claim gets none, be it there already or to be made.

    Of volumes that are there a claim gets the smallest that it fits. Score: by the share that the claims take of the
    volumes they would get, or of the room in which theirs would be made. Reserve: assumes claims and volumes as they
    will be. PreBind: writes that, and waits until the controllers have bound them.
    """

    name: ClassVar[str] = "VolumeBinding"

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        self._cluster = handle.cluster
        self._writer = handle.volume_writer
        self._timeout_seconds = args.bind_timeout_seconds
        self._scores = scores_by_percent(args.shape)
        self._finder = VolumeFinder(handle.cluster.objects)

    # --- scheduling cycle

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """Reject a pod whose claims can't be used or should be bound already; skip one without claims."""
        if not pod.volumes.claims:
            return _SKIP
        fault = problem(pod, snapshot.objects)
        if fault is not None:
            return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, fault)
        try:
            claims = claims_of(pod, snapshot.objects)
        except ClassError as error:
            raise PluginError(self.name, "PreFilter", str(error)) from error
        if claims.immediate:
            return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "pod has unbound immediate PersistentVolumeClaims")
        found = self._finder.find(claims, snapshot.nodes)
        state.write(self.name, _Cycle(claims, found, snapshot.nodes))
        return None

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The claims; None without any."""
        return pod.volumes.claims or None

    score_signature = filter_signature

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """A bit for each fault. Pods on the nodes make no difference, so all rows have been decided in PreFilter."""
        return -state.read(self.name, _Cycle).found.faults[rows]

    def filter_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """The same for one row."""
        return -state.read(self.name, _Cycle).found.faults.item(row)

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """All the reasons that apply."""
        reasons = [reason for bit, reason in _REASONS.items() if -verdict & bit]
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, *reasons)

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """0..100 a row."""
        return capacity_scores(state.read(self.name, _Cycle).found, self._scores)[rows]

    # --- binding cycle

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Assume the volumes bound, or the claims' node selected, so that the next pod finds them so."""
        if not pod.volumes.claims:
            return None
        cycle, objects = state.read(self.name, _Cycle), self._cluster.objects
        row = cycle.nodes.row_of(node_name)
        claims = (objects.assumed_claims.get(use.name, use.namespace) for use in pod.volumes.claims)
        if row is None or all(claim is not None and is_bound(claim) for claim in claims):
            return None
        try:
            cycle.reservation = reserve(cycle.found, row, node_name, objects)
        except AssumptionError as error:
            return Status.of(Code.ERROR, str(error))
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Take back what is not written yet."""
        if pod.volumes.claims:
            cycle = state.read(self.name, _Cycle)
            if cycle.reservation is not None:
                cycle.reservation.give_back(self._cluster.objects)

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Write what was reserved and wait until it is bound; an error status when that fails or takes too long."""
        reservation = state.read(self.name, _Cycle).reservation if pod.volumes.claims else None
        if reservation is None:
            return None
        try:
            await self._write(reservation)
            bound = await self._writer.until(
                lambda: settled(self._cluster, pod, node_name, reservation),
                [(use.namespace, use.name) for use in pod.volumes.claims],
                self._timeout_seconds,
            )
        except VolumeWriteError as error:
            return Status.of(Code.ERROR, str(error))
        except BindingFailed as failure:
            return Status.of(Code.ERROR, f"binding volumes: {failure}")
        return None if bound else Status.of(Code.ERROR, "binding volumes: context deadline exceeded")

    async def _write(self, reservation: Reservation) -> None:
        for binding in reservation.bindings:
            if binding.pending:
                binding.volume = await self._writer.bind_volume(binding.volume)
                binding.pending = False
        for provisioned in reservation.provisions:
            provisioned.claim = await self._writer.select_node(provisioned.claim)

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Whatever may give the pod a volume."""
        return waking_events(self._cluster.objects)

    def hint_signature(self, pod: PodInfo) -> Hashable | None:
        """The claims."""
        return pod.volumes.claims
