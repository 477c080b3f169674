"""From objects as they were written to the cluster that is simulated.

::

    Found ──> kind? ──> types fit? ──> defaults ──> Priority admission ──> decoded ──> valid? ──> ClusterInput
                |           |                              |                             |
                |           +------------------------------+-----------------------------+--> faults, all of them
                +--> not read: passed over; a warning where somebody may expect something of it
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from scheduler.api.decoding import DECODERS
from scheduler.api.nulls import without_nulls
from scheduler.api.quantity import QuantityError
from scheduler.api.types import Node, Pod, PriorityClass
from scheduler.core.cache.cluster_objects import ApiObject, ClusterObjects
from scheduler.simulator.api_defaults import defaulted
from scheduler.simulator.documents import Found
from scheduler.simulator.kinds import POD_MAKERS, READ_KINDS, ReadKind, kind_of, meant_kind
from scheduler.simulator.misfits import misfits, wrong_quantities
from scheduler.simulator.places import Place, Remark, raise_if_any
from scheduler.simulator.pod_defaults import defaulted_pod
from scheduler.simulator.priority_admission import PriorityAdmission
from scheduler.simulator.unknown_fields import unknown_fields
from scheduler.simulator.validity import Validity

Object = dict[str, Any]

_DEFAULT_NAMESPACE: Final = "default"
_STORED_KINDS: Final = frozenset(ClusterObjects().kinds())
_MAXIMUM_FAULTS: Final = 100


@dataclass(slots=True)
class ClusterInput:
    """A cluster as it could stand in an API server, and its pods, in the order of the input.

    Attributes:
        objects: of the kinds that plugins read, beside nodes and pods.
        places: where each pod stands, by its UID.
        warnings: what is odd.
    """

    nodes: list[Node] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    objects: list[ApiObject] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    warnings: list[Remark] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Read:
    kind: ReadKind
    place: Place
    value: Object


def read_cluster(found: Iterable[Found | Remark], scheduler_name: str) -> ClusterInput:
    """The cluster that these objects make.

    Args:
        found: as they were written, and what could not be read.
        scheduler_name: of pods that name none.

    Raises:
        InputError: with everything that is wrong with them.
    """
    reader = _Reader(scheduler_name)
    reader.take(found)
    reader.finish()
    # Pods are made last, whatever stands behind them.
    faults = sorted(reader.faults, key=lambda fault: (fault.place.source, fault.place.document, fault.place.item or 0))
    if len(faults) >= _MAXIMUM_FAULTS:
        faults.append(Remark(Place("input"), "there may be more faults: mend these first"))
    raise_if_any(faults)
    return reader.cluster


class _Reader:
    def __init__(self, scheduler_name: str) -> None:
        self.cluster = ClusterInput()
        self.faults: list[Remark] = []
        self._scheduler_name = scheduler_name
        self._validity = Validity()
        self._pods: list[_Read] = []
        self._count = 0
        self._part_is_missing = False
        self._classes: list[PriorityClass] = []
        self._namespaces: dict[str, None] = {}
        self._identities: dict[tuple[str, str, str], Place] = {}
        self._uids: dict[str, Place] = {}
        self._pod_makers: dict[str, Place] = {}

    def take(self, found: Iterable[Found | Remark]) -> None:
        """Everything but pods, whose priorities need the classes, is made at once."""
        for each in found:
            if len(self.faults) >= _MAXIMUM_FAULTS:
                return
            if isinstance(each, Remark):
                self._part_is_missing = True
                self.faults.append(each)
                continue
            read = self._typed(each)
            if read is None:
                continue
            if read.kind.name == "Pod":
                self._pods.append(read)
            else:
                self._make(read, self._with_defaults(read))

    def finish(self) -> None:
        """The pods; and what must be there though nobody wrote it: their namespaces."""
        admission = PriorityAdmission(self._classes)
        for read in self._pods:
            if len(self.faults) >= _MAXIMUM_FAULTS:
                return
            self._make(read, self._admitted(read, admission))
        if self.faults:
            return
        self.take(
            Found(Place("implied"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            for name in self._namespaces
            if ("Namespace", "", name) not in self._identities
        )
        if all(pod.spec.node_name for pod in self.cluster.pods):
            self.cluster.warnings += [
                Remark(place, f"no pods are made for a {kind} here: give the pods themselves")
                for kind, place in self._pod_makers.items()
            ]

    # --- one object

    def _typed(self, found: Found) -> _Read | None:
        """The object with an identity, if it is of a kind that is read and its fields have the right types."""
        try:
            group, version, name = kind_of(found.value)
        except ValueError as error:
            self._refuse(found.place, str(error))
            return None
        if name in POD_MAKERS:
            self._pod_makers.setdefault(name, found.place)
        kind = READ_KINDS.get((group, name))
        if kind is None:
            meant = meant_kind(group, name)
            if meant is not None:
                hint = f"write apiVersion: {meant.api_version} and kind: {meant.name}"
                self._refuse(found.place, f"there is no kind {name} in {found.value['apiVersion']}; {hint}")
            return None
        place = replace(found.place, subject=_subject(kind, found.value.get("metadata")))
        if version != kind.version:
            self._refuse(place.at("apiVersion"), f"expected {kind.api_version}, got {found.value['apiVersion']}")
            return None
        self._count += 1
        value = self._fitting(self._named(found.value), kind, place)
        return None if value is None else self._identified(_Read(kind, place, value))

    def _named(self, value: Object) -> Object:
        """Where the author leaves the name to the API server, it is made up."""
        metadata = value.get("metadata")
        if not isinstance(metadata, dict) or metadata.get("name") or not isinstance(metadata.get("generateName"), str):
            return value
        return {**value, "metadata": {**metadata, "name": f"{metadata['generateName']}{self._count:05d}"}}

    def _fitting(self, value: Object, kind: ReadKind, place: Place) -> Object | None:
        try:
            msgspec.convert(value, kind.api_type)
        except msgspec.ValidationError:
            cleaned = without_nulls(value, kind.api_type)
            assert isinstance(cleaned, dict)
            faults = list(misfits(cleaned, kind.api_type))
            for path, message in faults:
                self._refuse(place.at(path), message)
            return None if faults else cleaned
        return value

    def _identified(self, read: _Read) -> _Read | None:
        """With namespace and UID; None when another object has them already."""
        metadata = dict(read.value["metadata"])
        namespace = (metadata.get("namespace") or _DEFAULT_NAMESPACE) if read.kind.namespaced else ""
        metadata["namespace"] = namespace
        metadata["uid"] = metadata.get("uid") or f"00000000-0000-0000-0000-{self._count:012d}"
        metadata["resourceVersion"] = metadata.get("resourceVersion") or str(self._count)
        place = replace(read.place, subject=_subject(read.kind, metadata))
        if not metadata["name"]:
            self._refuse(place.at("metadata.name"), "is missing")
            return None
        before = self._identities.setdefault((read.kind.name, namespace, metadata["name"]), place)
        if before is not place:
            self._refuse(place, f"stands twice; first in {_short(before)}")
            return None
        before = self._uids.setdefault(metadata["uid"], place)
        if before is not place:
            self._refuse(place.at("metadata.uid"), f"is that of another object, {before}")
            return None
        if not read.value["metadata"].get("resourceVersion"):  # nobody has stored it yet
            for path, message in unknown_fields(read.value, read.kind.name):
                self._refuse(place.at(path), message)
        if read.kind.name == "Pod":
            self._namespaces.setdefault(namespace)
        return _Read(read.kind, place, {**read.value, "metadata": metadata})

    def _with_defaults(self, read: _Read) -> Object | None:
        try:
            if read.kind.name == "Pod":
                return defaulted_pod(read.value, self._scheduler_name)
            return defaulted(read.kind.name, read.value)
        except QuantityError:
            for path, message in wrong_quantities(read.value):
                self._refuse(read.place.at(path), message)
            return None

    def _admitted(self, read: _Read, admission: PriorityAdmission) -> Object | None:
        value = self._with_defaults(read)
        if value is None:
            return None
        missing = admission.missing_class(value["spec"])
        if missing is not None and self._part_is_missing:
            return None  # it may stand in what could not be read
        if missing is not None:
            message = f'there is no PriorityClass "{missing}"; add it to the input'
            self._refuse(read.place.at("spec.priorityClassName"), message)
            return None
        return {**value, "spec": admission.admit(value["spec"])}

    def _make(self, read: _Read, value: Object | None) -> None:
        obj = None if value is None else self._decoded(read, value)
        if obj is None:
            return
        for path, message in self._validity.problems(obj):
            self._refuse(read.place.at(path), message)
        cluster = self.cluster
        if isinstance(obj, Pod):
            cluster.places[obj.metadata.uid] = read.place
            cluster.pods.append(obj)
        elif isinstance(obj, Node):
            cluster.places[obj.metadata.uid] = read.place
            cluster.nodes.append(obj)
        elif isinstance(obj, PriorityClass):
            self._classes.append(obj)
        elif type(obj) in _STORED_KINDS:
            cluster.places[obj.metadata.uid] = read.place
            cluster.objects.append(obj)

    def _decoded(self, read: _Read, value: Object) -> Any:
        try:
            return DECODERS[read.kind.name](msgspec.json.encode(value))
        except (OverflowError, RecursionError, UnicodeEncodeError, msgspec.MsgspecError) as error:
            # Numbers or nesting without end, half a surrogate pair, or a part that only the decoder looks into.
            self._refuse(read.place, str(error))
            return None

    def _refuse(self, place: Place, message: str) -> None:
        self.faults.append(Remark(place, message))


def _subject(kind: ReadKind, metadata: Any) -> str:
    """E.g. ``Pod team-a/web``, as far as it can be told."""
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        return kind.name
    namespace = metadata.get("namespace") if kind.namespaced else None
    return f"{kind.name} {namespace}/{name}" if isinstance(namespace, str) and namespace else f"{kind.name} {name}"


def _short(place: Place) -> str:
    return str(replace(place, subject=""))
