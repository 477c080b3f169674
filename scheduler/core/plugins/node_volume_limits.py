"""Keeps the number of attached volumes within what each node can have."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.csi_migration import CsiVolume
from scheduler.api.pod_volumes import is_made_for
from scheduler.api.types import CSIDriver, CSINode, PersistentVolumeClaim
from scheduler.core.cache.attached_volumes import volume_of
from scheduler.core.cache.volume_limits import NO_LIMIT
from scheduler.core.framework.events import ASSIGNED_POD_DELETE, NODE_ADD, Action, ClusterEvent, EventResource
from scheduler.core.framework.events import RegisteredEvent as Registered
from scheduler.core.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult, Rows
from scheduler.core.framework.status import Code, PluginError, Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.cache.volume_table import VolumeTable
    from scheduler.core.framework.cycle_state import CycleState

_TOO_MANY: Final = 1
_NOT_INSTALLED: Final = 2
"""And above: of the drivers that this plugin has met, the one with this number less 2."""
_NO_OWNER: Final = " (pod is not owner)"
_SKIP: Final = Status.of(Code.SKIP)


@dataclass(slots=True)
class _OfDriver:
    """The pod's volumes of a driver.

    Attributes:
        must_be_installed: whether the driver wants no pod on nodes where it does not run.
        migrated: whether all are of an in-tree plugin, so that they count only where there is a CSINode.
    """

    name: str
    number: int
    must_be_installed: bool
    migrated: bool
    volumes: dict[CsiVolume, None]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the pod brings along.

    Attributes:
        missing: the index of a claim that does not exist, which rejects every node; None when all do.
        fault: why a claim can't be the pod's; "" when all can.
    """

    drivers: Sequence[_OfDriver]
    missing: int | None = None
    fault: str = ""

    @property
    def asks_for_drivers(self) -> bool:
        """Whether some driver wants no pod on nodes where it does not run."""
        return any(each.must_be_installed for each in self.drivers)


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    """Filter: nodes where the pod's volumes would make more of a driver than its CSINode allows.

    What the node has attached already, for pods or by a VolumeAttachment, counts once each; what a pod there mounts
    the pod may share. And nodes where a driver does not run that asks for no pods there.
    """

    name: ClassVar[str] = "NodeVolumeLimits"

    def __init__(self) -> None:
        self._drivers: dict[str, int] = {}

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """Find out the drivers; skip a pod without volumes that count."""
        if not pod.volumes.counts:
            return _SKIP
        state.write(self.name, self._wanted(pod, snapshot))
        return None

    def _wanted(self, pod: PodInfo, snapshot: Snapshot) -> _Wanted:
        found: dict[str, _OfDriver] = {}
        objects = snapshot.objects
        for index, use in enumerate(pod.volumes.claims):
            claim = objects.persistent_volume_claims.get(use.name, use.namespace)
            if claim is None:
                return _Wanted((), index)
            if use.ephemeral and not is_made_for(claim, pod.pod):
                return _Wanted((), fault=f"PVC {use.namespace}/{use.name} was not created for pod {pod.key}{_NO_OWNER}")
            volume, migrated = volume_of(claim, objects)
            if volume is not None:
                self._add(found, volume, snapshot, migrated=migrated)
        for volume in pod.volumes.in_place:
            self._add(found, volume, snapshot, migrated=True)
        return _Wanted([found[driver] for driver in sorted(found)])

    def _add(self, found: dict[str, _OfDriver], volume: CsiVolume, snapshot: Snapshot, *, migrated: bool) -> None:
        of_driver = found.get(volume.driver)
        if of_driver is None:
            number = self._drivers.setdefault(volume.driver, len(self._drivers))
            driver = snapshot.objects.csi_drivers.get(volume.driver)
            asks = driver is not None and bool(driver.spec.prevent_pod_scheduling_if_missing)
            of_driver = found[volume.driver] = _OfDriver(volume.driver, number, asks, migrated, {})
        of_driver.volumes[volume] = None
        of_driver.migrated &= migrated

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The volumes; None when none counts."""
        return pod.volumes if pod.volumes.counts else None

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """Which driver does not run, else whether there are too many of one; negative for a claim that is missing."""
        wanted, volumes = state.read(self.name, _Wanted), snapshot.nodes.volumes
        has_csi_node = volumes.limits.has_csi_node(rows)
        if wanted.missing is not None:
            return np.full(len(has_csi_node), -1 - wanted.missing, np.int32)
        if wanted.fault:
            raise PluginError(self.name, "Filter", wanted.fault)
        if pod.volumes.fault and has_csi_node.any():
            raise PluginError(self.name, "Filter", pod.volumes.fault)
        verdicts = np.zeros(len(has_csi_node), np.int32)
        for each in wanted.drivers:
            exceeded = _exceeded(each, volumes, snapshot.nodes.count, rows)
            if exceeded is not None:
                verdicts[exceeded] = _TOO_MANY
        for each in reversed(wanted.drivers):
            if each.must_be_installed:
                missing = ~volumes.limits.installed(each.name, rows)
                verdicts[missing & has_csi_node if each.migrated else missing] = _NOT_INSTALLED + each.number
        return verdicts

    def filter_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """The same for one row, where no driver asks to be installed."""
        wanted, volumes = state.read(self.name, _Wanted), snapshot.nodes.volumes
        if wanted.missing is not None or wanted.fault or pod.volumes.fault or wanted.asks_for_drivers:
            return super().filter_row(state, pod, snapshot, row)
        for each in wanted.drivers:
            limit = volumes.limits.limit_on(each.name, row)
            if limit == NO_LIMIT:
                continue
            more = sum(1 for volume in each.volumes if row not in volumes.attached.by_pods.of(volume))
            if more and volumes.attached.count_on(each.name, row) + more > limit:
                return _TOO_MANY
        return 0

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The reason."""
        if verdict < 0:
            use = pod.volumes.claims[-1 - verdict]
            looked_up = f'looking up PVC {use.namespace}/{use.name}: persistentvolumeclaim "{use.name}" not found'
            return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, looked_up)
        if verdict == _TOO_MANY:
            return Status.of(Code.UNSCHEDULABLE, "node(s) exceed max volume count")
        driver = next(name for name, number in self._drivers.items() if number == verdict - _NOT_INSTALLED)
        return Status.of(Code.UNSCHEDULABLE, f"{driver} CSI driver is not installed on the node")

    def events_to_register(self) -> Sequence[Registered]:
        """Drivers that come, go or allow more; volumes that are detached or gone; claims of the pod; new nodes."""
        changed_or_gone = Action.UPDATE_OTHER | Action.DELETE
        return (
            Registered(ClusterEvent(EventResource.CSI_NODE, Action.ADD | Action.DELETE)),
            Registered(ClusterEvent(EventResource.CSI_NODE, Action.UPDATE_OTHER), _allows_more),
            Registered(ClusterEvent(EventResource.CSI_DRIVER, changed_or_gone), _asks_no_more),
            Registered(ASSIGNED_POD_DELETE, _leaves_volumes),
            Registered(NODE_ADD),
            Registered(
                ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE_OTHER), _is_claim_of
            ),
            # What cannot be found any more is not counted.
            Registered(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.DELETE)),
            Registered(ClusterEvent(EventResource.PERSISTENT_VOLUME, Action.DELETE)),
            Registered(ClusterEvent(EventResource.VOLUME_ATTACHMENT, Action.DELETE)),
        )

    def hint_signature(self, pod: PodInfo) -> Hashable | None:
        """The claims."""
        return pod.volumes.claims


def _exceeded(of_driver: _OfDriver, volumes: VolumeTable, count: int, rows: Rows) -> BoolArray | None:
    """Rows where the pod's volumes of the driver are too many; None where that can't be."""
    limit = volumes.limits.limit(of_driver.name, rows)
    if isinstance(limit, int):
        return None
    more = np.full(count, len(of_driver.volumes), np.int64)
    for volume in of_driver.volumes:
        more[list(volumes.attached.by_pods.of(volume))] -= 1
    more = more[rows]
    return (more > 0) & (volumes.attached.count(of_driver.name, rows) + more > limit)


def _allows_more(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """A driver that is new on the node does so too: it may have been asked for."""
    if not isinstance(old, CSINode) or not isinstance(new, CSINode):
        return True
    before = {driver.name: driver.allocatable for driver in old.spec.drivers}
    for driver in new.spec.drivers:
        if driver.name not in before:
            return True
        limits = [each.count if each is not None else None for each in (before[driver.name], driver.allocatable)]
        if limits[0] is not None and (limits[1] is None or limits[1] > limits[0]):
            return True
    return False


def _asks_no_more(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """Whether the driver takes back that it wants no pods where it does not run."""
    if not isinstance(old, CSIDriver):
        return True
    asked = bool(old.spec.prevent_pod_scheduling_if_missing)
    return asked and not (isinstance(new, CSIDriver) and new.spec.prevent_pod_scheduling_if_missing)


def _leaves_volumes(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    return not isinstance(old, PodInfo) or old.volumes.counts


def _is_claim_of(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    if not isinstance(new, PersistentVolumeClaim):
        return True
    key = (new.metadata.namespace, new.metadata.name)
    return any((use.namespace, use.name) == key for use in queued.pod_info.volumes.claims)
