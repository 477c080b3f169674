"""A cluster that lives long: objects of many random clusters come, change, go and come back in one process.

Whatever the process keeps (counters, masks, columns, results of earlier pods) has then been caught up many times. The
account of what is there is what the stores themselves hold: a cluster made of it anew must give the same answers.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from scheduler.api.decoding import DECODERS, decode_node, decode_pod
from scheduler.api.types import Pod
from scheduler.core.algorithm import Decision, ScheduleAlgorithm
from scheduler.core.cache.change_log import ChangeLog
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.types import PodInfo
from scheduler.testing import make_node
from tests.conformance.cluster import OBJECT_KINDS, frameworks_of
from tests.conformance.evaluate import CountingRng
from tests.oracle.generator.case import RandomCase
from tests.unit.core.framework.profiles import no_api_server

Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace, name."""

_NODES = 14
_SAME_SIZE = 500_000_000
"""Of all images: whose size counts depends on which node came first."""


class Assumed(NamedTuple):
    """A pod on its way to a node."""

    framework: Framework
    state: CycleState
    pod: PodInfo
    node_name: str


class Profile(NamedTuple):
    """A profile at work."""

    framework: Framework
    algorithm: ScheduleAlgorithm


class LongLife:
    """Objects of several cases of one profile of the generator, and profiles that share one snapshot.

    Attributes:
        pending: pods without a node, by uid.
        assumed: pods that a profile has decided about, by uid.
    """

    def __init__(self, seed: int, profile: str, cases: int = 4) -> None:
        self.rng = random.Random(f"{seed} {profile}")
        self.state = ClusterState()
        self.snapshot = Snapshot(self.state)
        self.snapshot.node_changes, self.snapshot.row_changes = ChangeLog(limit=9), ChangeLog(limit=17)
        self.snapshot.start_changes = ChangeLog(limit=7)
        self.pending: dict[str, PodInfo] = {}
        self.assumed: dict[str, Assumed] = {}
        self._stored: dict[Key, ApiObject] = {}
        self._version = 1
        self._versions: dict[Key, list[dict[str, Any]]] = {}
        self._configs: list[dict[str, Any] | None] = [None]
        for index in range(cases):
            case = RandomCase(str(seed), profile, index, 2, _NODES).build()
            self._configs += [case["config"]] if "config" in case else []
            for obj in case["objects"]:
                if obj["kind"] in ("Node", "Pod") or obj["kind"] in OBJECT_KINDS:
                    metadata = obj["metadata"]
                    key = (obj["kind"], metadata.get("namespace", ""), metadata["name"])
                    self._versions.setdefault(key, []).append(_with_images_of_one_size(obj))
        self._keys = list(self._versions)
        self.profiles = self.profiles_on(self.state, self.snapshot)

    def profiles_on(self, state: ClusterState, snapshot: Snapshot) -> list[Profile]:
        """The profiles of the first cases that have a configuration, made anew."""
        frameworks = [
            framework
            for config in self._configs[:3]
            for framework in frameworks_of(config, no_api_server(state)).values()
        ]
        return [Profile(framework, ScheduleAlgorithm(snapshot, framework, CountingRng())) for framework in frameworks]

    # --- what happens

    def step(self) -> None:
        """Anything."""
        match self.rng.choices(("place", "settle", "nominate", "write", "remove"), (12, 8, 5, 50, 25))[0]:
            case "place" if self.pending:
                self._place(self._one_of(self.pending))
            case "settle" if self.assumed:
                self._settle(self._one_of(self.assumed))
            case "nominate" if self.pending:
                self._nominate(self._one_of(self.pending))
            case "remove":
                self._remove(self.rng.choice(self._keys))
            case _:
                self._write(self.rng.choice(self._keys))

    def end(self) -> None:
        """Everything goes."""
        for uid in (*self.pending, *self.assumed):
            self._remove_pod(uid)
        for key in self._keys:
            self._remove(key)
        for info in self.state.cache.node_infos():
            for uid in tuple(info.pods):
                self._remove_pod(uid)
        self.snapshot.refresh()

    def _one_of(self, by_uid: dict[str, Any]) -> str:
        return self.rng.choice(list(by_uid))

    def _write(self, key: Key) -> None:
        kind, raw = key[0], self._changed(key)
        if kind == "Node":
            self.state.cache.add_node(decode_node(raw))
        elif kind == "Pod":
            self._write_pod(decode_pod(raw))
        else:
            self._stored[key] = DECODERS[kind](raw)
            self.state.objects.set(self._stored[key])

    def _changed(self, key: Key) -> bytes:
        """One of the object's versions, perhaps with labels of another object of its kind; some pods begin to leave."""
        rng = self.rng
        self._version += 1
        obj = msgspec.json.decode(msgspec.json.encode(rng.choice(self._versions[key])))
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(self._version)
        if rng.random() < 0.35:
            others = self._versions[rng.choice([other for other in self._keys if other[0] == key[0]])]
            metadata["labels"] = rng.choice(others)["metadata"].get("labels", {})
        if key[0] == "Pod" and rng.random() < 0.15:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return msgspec.json.encode(obj)

    def _write_pod(self, pod: Pod) -> None:
        uid, node_name = pod.metadata.uid, pod.spec.node_name
        if pod.status.phase in ("Succeeded", "Failed"):
            self._remove_pod(uid)
        elif node_name:
            assumed = self.assumed.pop(uid, None)
            if assumed is not None and assumed.node_name != node_name:
                assumed.framework.unreserve(assumed.state, assumed.pod, assumed.node_name)
            self.pending.pop(uid, None)
            self.state.nominator.remove(uid)
            self.state.cache.add_pod(parse_pod(pod), node_name)
        elif uid not in self.assumed:
            self.state.cache.remove_pod(uid)
            self.pending[uid] = parse_pod(pod)
            self.state.nominator.remove(uid)
            if pod.status.nominated_node_name:
                self.state.nominator.add(self.pending[uid], pod.status.nominated_node_name)

    def _remove(self, key: Key) -> None:
        raw = msgspec.json.encode(self._versions[key][0])
        if key[0] == "Node":
            self.state.cache.remove_node(key[2])
            for pod in tuple(self.state.nominator.on_node(key[2])):
                self.state.nominator.remove(pod.uid)
        elif key[0] == "Pod":
            self._remove_pod(decode_pod(raw).metadata.uid)
        elif key in self._stored:
            self.state.objects.remove(self._stored.pop(key))

    def _remove_pod(self, uid: str) -> None:
        self.state.cache.remove_pod(uid)
        self.state.nominator.remove(uid)
        self.pending.pop(uid, None)
        assumed = self.assumed.pop(uid, None)
        if assumed is not None:
            assumed.framework.unreserve(assumed.state, assumed.pod, assumed.node_name)

    def _nominate(self, uid: str) -> None:
        self.state.nominator.remove(uid)
        if self.rng.random() < 0.6:
            node = self.rng.choice([key[2] for key in self._keys if key[0] == "Node"])
            self.state.nominator.add(self.pending[uid], node)

    def _place(self, uid: str) -> None:
        framework, algorithm = self.rng.choice(self.profiles)
        pod, state = self.pending[uid], CycleState()
        node_name = attempt(algorithm, state, pod).node_name
        if node_name is None:
            return
        self.state.cache.assume_pod(pod, node_name)
        if framework.reserve(state, pod, node_name) is not None:
            framework.unreserve(state, pod, node_name)
            self.state.cache.forget_pod(uid)
            return
        self.state.nominator.remove(uid)
        self.assumed[uid] = Assumed(framework, state, self.pending.pop(uid), node_name)

    def _settle(self, uid: str) -> None:
        """The binding fails, or the watch shows the pod where it was assumed."""
        framework, state, pod, node_name = self.assumed.pop(uid)
        if self.rng.random() < 0.5:
            framework.unreserve(state, pod, node_name)
            self.state.cache.forget_pod(uid)
            self.pending[uid] = pod
            return
        self.state.cache.add_pod(
            parse_pod(
                replace(
                    pod.pod,
                    spec=replace(pod.pod.spec, node_name=node_name),
                    status=replace(pod.pod.status, nominated_node_name=None),
                )
            ),
            node_name,
        )

    # --- the same anew

    def anew(self) -> ClusterState:
        """A state that never was another: the same nodes in the same rows, the same pods, objects and assumptions."""
        state, by_row = ClusterState(), {info.row: info for info in self.state.cache.node_infos()}
        holes = [row for row in range(self.snapshot.nodes.count) if row not in by_row]
        for row in range(self.snapshot.nodes.count):
            if row in holes:
                state.cache.add_node(make_node(f"hole-{row}").obj())
                continue
            info = by_row[row]
            if info.node is not None:
                state.cache.add_node(info.node)
            for pod in info.pods.values():
                state.cache.add_pod(pod, info.name)
        for row in holes:
            state.cache.remove_node(f"hole-{row}")
        self._copy_objects(state)
        for pod, node_name in self.nominations():
            state.nominator.add(pod, node_name)
        return state

    def _copy_objects(self, state: ClusterState) -> None:
        objects = self.state.objects
        for obj in self._stored.values():
            state.objects.set(obj)
        for volume in objects.persistent_volumes:
            assumed = objects.assumed_volumes[volume.metadata.name]
            if assumed is not volume:
                state.objects.assumed_volumes.assume(assumed)
        for claim in objects.persistent_volume_claims:
            taken = objects.assumed_claims.get(claim.metadata.name, claim.metadata.namespace)
            if taken is not None and taken is not claim:
                state.objects.assumed_claims.assume(taken)

    def nominations(self) -> list[tuple[PodInfo, str]]:
        """Pods with the nodes that they are nominated to."""
        nominator = self.state.nominator
        return [(pod, node_name) for node_name in nominator.nodes() for pod in nominator.on_node(node_name)]

    def restore_nominations(self, nominations: list[tuple[PodInfo, str]]) -> None:
        """Take back what a preemption nominated and withdrew."""
        self.state.nominator.clear()
        for pod, node_name in nominations:
            self.state.nominator.add(pod, node_name)
        self.snapshot.refresh()


def attempt(algorithm: ScheduleAlgorithm, state: CycleState, pod: PodInfo) -> Decision:
    """One attempt; errors of plugins are raised."""
    try:
        request = next(algorithm.schedule(state, pod))
    except StopIteration as finished:
        decision: Decision = finished.value
        return decision
    raise AssertionError(f"there is nobody outside the core to answer {request!r}")


def _with_images_of_one_size(obj: dict[str, Any]) -> dict[str, Any]:
    for image in obj.get("status", {}).get("images") or ():
        image["sizeBytes"] = _SAME_SIZE
    return obj
