"""A simulation's answer for programs: JSON of a stable shape, described in docs/simulate.md."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from scheduler.simulator.places import Remark
from scheduler.simulator.results import Outcome, PodResult, Rejection, Score, Simulation

API_VERSION: Final = "podium.dev/v1alpha1"
KIND: Final = "Simulation"


def json_report(simulation: Simulation) -> bytes:
    """The whole answer as one indented JSON object, with a line feed at its end."""
    return msgspec.json.format(msgspec.json.encode(document(simulation)), indent=2) + b"\n"


def document(simulation: Simulation) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "summary": summary(simulation),
        "pods": [_pod(pod) for pod in simulation.pods],
        "evicted": [
            {"pod": each.pod, "node": each.node_name, "priority": each.priority, "for": each.preemptor}
            for each in simulation.evictions
        ],
        "notOurs": [{"pod": each.pod, "schedulerName": each.scheduler_name} for each in simulation.foreign_pods],
        "warnings": [_remark(remark) for remark in simulation.warnings],
    }


def summary(simulation: Simulation) -> dict[str, int]:
    """Numbers of pods by what became of them, and of nodes."""
    return {
        "nodes": simulation.nodes,
        "pods": len(simulation.pods),
        "placed": simulation.count(Outcome.PLACED),
        "unschedulable": simulation.count(Outcome.UNSCHEDULABLE),
        "gated": simulation.count(Outcome.GATED),
        "skipped": simulation.count(Outcome.SKIPPED),
        "failed": simulation.count(Outcome.ERROR),
        "evicted": len(simulation.evictions),
        "notOurs": len(simulation.foreign_pods),
        "warnings": len(simulation.warnings),
    }


def _pod(pod: PodResult) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "namespace": pod.namespace,
        "name": pod.name,
        "schedulerName": pod.profile,
        "priority": pod.priority,
        "outcome": pod.outcome.value,
        "attempts": pod.attempts,
        "node": pod.node_name or None,
        "feasibleNodes": pod.feasible_nodes,
        "nominatedNode": pod.nominated_node or None,
        "evicts": pod.evicted,
        "scores": None,
        "runnerUp": None,
        "tied": None,
        "tiedNodes": [],
        "message": pod.message,
        "rejections": [_rejection(rejection) for rejection in pod.rejections],
    }
    if pod.choice is not None:
        answer["scores"], answer["runnerUp"] = _score(pod.choice.winner), _score(pod.choice.runner_up)
        answer["tied"], answer["tiedNodes"] = pod.choice.tied, pod.choice.tied_nodes
    return answer


def _score(score: Score) -> dict[str, Any]:
    return {"node": score.node_name, "total": score.total, "byPlugin": score.by_plugin}


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {
        "plugin": rejection.plugin,
        "code": rejection.code,
        "reasons": rejection.reasons,
        "nodes": rejection.nodes,
    }


def _remark(remark: Remark) -> dict[str, Any]:
    place = remark.place
    return {
        "source": place.source,
        "document": place.document or None,
        "item": place.item,
        "object": place.subject or None,
        "field": place.field or None,
        "message": remark.message,
    }
