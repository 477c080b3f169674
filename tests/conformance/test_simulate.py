"""`podium simulate` on the cases of the goldens: the API server's defaults, and kube-scheduler's first decision."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from scheduler.api.decoding import DECODERS
from scheduler.api.quantity import nano_value
from scheduler.config.loading import LoadedConfiguration, parse_configuration
from scheduler.config.plugin_args import GROUP_VERSION
from scheduler.config.types import KIND
from scheduler.simulator.cluster_input import read_cluster
from scheduler.simulator.documents import Found
from scheduler.simulator.places import InputError, Place
from scheduler.simulator.results import Outcome, PodResult
from scheduler.simulator.simulation import simulate
from tests.conformance.case import Case, Step
from tests.conformance.deliberate import RULES
from tests.conformance.extent import preemption_is_comparable
from tests.conformance.test_goldens import PROFILES, goldens
from tests.oracle.generator.case import RandomCase

GENERATED = ("basic", "affinity", "spread", "taints", "preempt", "pdb", "nominated", "volumes", "mixed")
SEED = "11"
"""Of the generator's run that gave these profiles of the goldens."""

_AMOUNTS = ("requests", "limits", "capacity", "allocatable", "overhead", "allocatedResources")
_SINGLE_AMOUNTS = ("capacity", "maximumVolumeSize")
_EMPTY_SELECTS_ALL = ("labelSelector", "namespaceSelector", "selector", "preference", "nodeTopology")
_READ_ONLY = "readOnly"
_NOT_STORED = ("PriorityClass", "PodDisruptionBudget")


@pytest.mark.parametrize("profile", GENERATED)
def test_objects_by_hand_become_what_the_api_server_stores(profile: str) -> None:
    """Defaults, merged label keys, resources of whole pods and priorities: each object equals the one in the golden."""
    compared = 0
    for index, golden in enumerate(goldens(profile)):
        written = RandomCase(SEED, profile, index, 2, 12).build()
        assert written["name"] == golden.name
        found = [Found(Place("case", item=item), value) for item, value in enumerate(written["objects"])]
        cluster = read_cluster(found, "default-scheduler")
        ours = {_identity(obj): _canonical(msgspec.to_builtins(obj)) for obj in (*cluster.nodes, *cluster.pods)}
        ours |= {_identity(obj): _canonical(msgspec.to_builtins(obj)) for obj in cluster.objects}
        for raw in golden.objects:
            kind = msgspec.json.decode(raw)["kind"]
            if kind not in DECODERS or kind in _NOT_STORED:
                continue
            stored = DECODERS[kind](bytes(raw))
            assert ours.pop(_identity(stored)) == _canonical(msgspec.to_builtins(stored)), golden.name
            compared += 1
        assert not ours, golden.name
    assert compared > 800


def _identity(obj: Any) -> tuple[str, str, str]:
    return type(obj).__name__, obj.metadata.namespace, obj.metadata.name


def _canonical(value: Any, key: str = "") -> Any:
    """Amounts as numbers, and without what is as good as absent."""
    if isinstance(value, dict):
        if key in _AMOUNTS:
            return {name: nano_value(amount) for name, amount in value.items()}
        inner = {name: _canonical(item, name) for name, item in value.items() if item is not None}
        return {
            name: item
            for name, item in inner.items()
            if item != [] and (item != {} or name in _EMPTY_SELECTS_ALL) and (item is not False or name != _READ_ONLY)
        }
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(value)
    return nano_value(value) if key in _SINGLE_AMOUNTS else value


@pytest.mark.parametrize("profile", [*PROFILES, "preempt", "nominated"])
def test_the_first_decision_is_kube_schedulers(profile: str) -> None:
    """With no other pod pending: node or reasons, and what preemption comes to as far as it is built."""
    compared: Counter[str] = Counter()
    for case in goldens(profile):
        step = case.steps[0]
        if step.error or step.reserve is not None or any(rule.explains(case, 0) for rule in RULES):
            continue
        result = _only_result(case)
        if result is not None:
            compared[_compare(case, step, result)] += 1
    assert compared["placed"] >= 5
    assert sum(compared.values()) >= 15


def _only_result(case: Case) -> PodResult | None:
    """What becomes of the case's first pod; None where the case has more to it than one pending pod."""
    found = []
    for item, raw in enumerate(case.objects):
        value = msgspec.json.decode(raw)
        if value["kind"] == "Pod" and not value["spec"].get("nodeName"):
            name = f"{value['metadata']['namespace']}/{value['metadata']['name']}"
            if name != case.steps[0].pod:
                if value.get("status", {}).get("nominatedNodeName"):
                    return None  # it holds room, and would be scheduled as well
                continue
        found.append(Found(Place("case", item=item), value))
    try:
        cluster = read_cluster(found, "default-scheduler")
    except InputError as error:
        if any("is more than the limit" not in fault.message for fault in error.faults):
            raise
        return None  # some cases about resources hold pods that only the oracle takes
    simulation = simulate(cluster, _loaded(case), seed=0)
    return simulation.pods[0] if simulation.pods else None


def _loaded(case: Case) -> LoadedConfiguration:
    document = {"apiVersion": GROUP_VERSION, "kind": KIND, "profiles": [{}]} | (case.config or {})
    document["profiles"] = [{"schedulerName": "default-scheduler"} | profile for profile in document["profiles"]]
    return parse_configuration(msgspec.json.encode(document), source=case.name, take_over=True)


def _compare(case: Case, step: Step, result: PodResult) -> str:
    """Assert that the answers are equal; what the answer is."""
    if step.skipped or step.pre_enqueue is not None:
        assert result.outcome in (Outcome.GATED, Outcome.SKIPPED), case.name
        return "not tried"
    if step.feasible:
        assert result.node_name in step.best, case.name
        if result.choice is not None:
            assert (result.feasible_nodes, result.choice.tied) == (len(step.feasible), len(step.best)), case.name
            assert result.choice.winner.total == step.nodes[result.node_name].total, case.name
        return "placed"
    assert result.attempts, case.name
    preemption = step.preemption
    if preemption is None or not preemption_is_comparable(case):
        assert result.node_name in ("", result.nominated_node), case.name
        return "unschedulable"
    if preemption.chosen:
        assert result.nominated_node in (preemption.tied or (preemption.chosen,)), case.name
        candidate = preemption.candidates[result.nominated_node]
        assert set(result.evicted) == set(candidate.victims) - _terminating(case), case.name
        return "preempted"
    assert _before_preemption(result.message) == _before_preemption(step.message), case.name
    nodes = {name: rejection for rejection in result.rejections for name in rejection.nodes}
    for name, answer in step.nodes.items() if step.pre_filter is None else ():
        rejection = nodes[name]
        assert (rejection.code, rejection.plugin, rejection.reasons) == (
            answer.code, answer.plugin, answer.reasons,
        ), case.name  # fmt: skip
    return "unschedulable"


def _before_preemption(message: str) -> str:
    """What follows is compared by the runner, which knows where it deliberately differs."""
    return message.partition(" preemption:")[0].removesuffix(" not found")


def _terminating(case: Case) -> set[str]:
    """Pods that are on their way out anyhow: to wait for them is no eviction."""
    metadata = [msgspec.json.decode(raw)["metadata"] for raw in case.objects]
    return {f"{each['namespace']}/{each['name']}" for each in metadata if "deletionTimestamp" in each}
