"""What differs between a golden and our answer, as readable lines."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.conformance.case import Case, NodeAnswer, Preemption, Step, Verdict
from tests.conformance.cluster import Cluster
from tests.conformance.deliberate import CORRECTIONS, RULES
from tests.conformance.evaluate import Attempt, CountingRng, Decided, attempt

_PREEMPTION_PART = " preemption:"
_VERDICT_FIELDS = ("code", "plugin", "reasons")
_PREEMPTION_FIELDS = (
    "eligible",
    "ineligible_reason",
    "candidates",
    "rejected",
    "chosen",
    "tied",
    "victims",
    "message",
)
_STEP_FIELDS = (
    "skipped",
    "pre_enqueue",
    "pre_filter",
    "pre_filter_nodes",
    "nominated_fast_path",
    "feasible",
    "best",
    "assumed",
    "reserve",
    "error",
)
"""Fields of a step that are compared as they are."""


@dataclass(slots=True)
class Comparison:
    """What came of a case.

    Attributes:
        differences: that nothing explains, as lines; none of them is wanted.
        deliberate: number of steps that differ by a named rule.
    """

    differences: list[str] = field(default_factory=list)
    deliberate: Counter[str] = field(default_factory=Counter)


def case_differences(case: Case, *, preemption: bool) -> list[str]:
    """The differences of a case that nothing explains; arguments as of `compare`."""
    return compare(case, preemption=preemption).differences


def compare(case: Case, *, preemption: bool) -> Comparison:
    """Go through a case pod by pod. Each pod is then placed where kube-scheduler placed it, so that one difference does
    not cause others.

    Args:
        preemption: whether the parts that preemption writes are compared: the field and the end of the message.
    """
    rng = CountingRng()
    cluster = Cluster(case, rng)
    comparison = Comparison()
    for index, golden in enumerate(case.steps):
        ours = attempt(cluster, golden.pod, rng)
        if node := golden.assumed or (golden.best[0] if golden.reserve is not None else ""):
            ours.place(cluster, node)
        elif case.apply_preemption and golden.preemption is not None:
            _apply(cluster, golden.pod, golden.preemption)
        _compare_step(case, index, ours, comparison, preemption=preemption)
    return comparison


def _compare_step(case: Case, index: int, ours: Attempt, comparison: Comparison, *, preemption: bool) -> None:
    golden = case.steps[index]
    for correction in CORRECTIONS:
        if corrected := correction.correct(golden):
            golden, preemption = corrected, False
            comparison.deliberate[correction.name] += 1
    if ours.decided is not None and golden.preemption is not None:
        _take_the_same_of_equals(golden.preemption, ours.step, ours.decided)
    lines = _all_differences(golden, ours, preemption=preemption)
    if not lines:
        return
    beyond_preemption = not preemption or bool(_all_differences(golden, ours, preemption=False))
    possible = (rule for rule in RULES if not (rule.in_preemption_only and beyond_preemption))
    explaining = next((rule for rule in possible if rule.explains(case, index)), None)
    if explaining is not None:
        comparison.deliberate[explaining.name] += 1
    else:
        comparison.differences += [f"step {index + 1}, pod {golden.pod}: {line}" for line in lines]


def _all_differences(golden: Step, ours: Attempt, *, preemption: bool) -> list[str]:
    lines = list(step_differences(golden, ours.step, preemption=preemption))
    if ours.decided is not None:
        decided = decision_differences(golden, ours.decided, preemption=preemption)
        lines += [f"decision: {line}" for line in decided]
    return lines


def _take_the_same_of_equals(golden: Preemption, ours: Step, decided: Decided) -> None:
    """Of equally good nodes to preempt on kube-scheduler names the first, Podium takes the lowest row."""
    if decided.preempted not in golden.tied or ours.preemption is None:
        return
    for part in (ours, ours.preemption):
        part.message = part.message.replace(f" on node {decided.preempted},", f" on node {golden.chosen},")
    if decided.victims == golden.candidates[decided.preempted].victims:
        decided.victims = golden.victims
    decided.preempted = golden.chosen


def _apply(cluster: Cluster, pod: str, preemption: Preemption) -> None:
    if preemption.chosen:
        for victim in preemption.victims:
            cluster.evict(victim)
        cluster.nominate(pod, preemption.chosen)
    elif preemption.eligible:
        cluster.withdraw(pod)


def step_differences(golden: Step, ours: Step, *, preemption: bool) -> Iterator[str]:
    """Every field of the full evaluation."""
    for name in _STEP_FIELDS:
        yield from _difference(name, getattr(golden, name), getattr(ours, name))
    yield from _message_difference(golden.message, ours.message, preemption=preemption)
    for node in sorted(golden.nodes.keys() | ours.nodes.keys()):
        yield from _node_differences(f"node {node}: ", golden.nodes.get(node), ours.nodes.get(node))
    if preemption:
        yield from _preemption_differences(golden.preemption, ours.preemption)


def _preemption_differences(golden: Preemption | None, ours: Preemption | None) -> Iterator[str]:
    if golden is None or ours is None or golden.not_run is not None:
        # Without the plugin there is nothing to be told on our side, where kube-scheduler tells of the others.
        not_run = golden is None or golden.not_run is not None
        yield from _difference("preemption", None if not_run else golden, ours)
        return
    for name in _PREEMPTION_FIELDS:
        yield from _difference(f"preemption.{name}", getattr(golden, name), getattr(ours, name))


def decision_differences(golden: Step, decided: Decided, *, preemption: bool) -> Iterator[str]:
    """What shows of an attempt as the running scheduler makes it."""
    if preemption and golden.preemption is not None:
        yield from _plan_differences(golden.preemption, decided)
    if (decided.node_name or None) not in (golden.best or (None,)):
        yield f"node: kube-scheduler one of {golden.best!r}, Podium {decided.node_name!r}"
    # Rows that are no longer as good as the others are found out when they are drawn, so there may be more.
    elif decided.choices < len(golden.best):
        yield from _difference("equally good nodes", len(golden.best), decided.choices)
    yield from _difference("feasible", len(golden.feasible), decided.feasible)
    looked_at = golden.nodes if golden.pre_filter is None and not golden.nominated_fast_path else {}
    for node in sorted(looked_at.keys() | decided.nodes.keys()):
        yield from _verdict_differences(f"node {node}: ", looked_at.get(node), decided.nodes.get(node))


def _plan_differences(golden: Preemption, decided: Decided) -> Iterator[str]:
    yield from _difference("preempted", golden.chosen, decided.preempted)
    yield from _difference("victims", golden.victims, decided.victims)


def _node_differences(where: str, golden: NodeAnswer | None, ours: NodeAnswer | None) -> Iterator[str]:
    yield from _verdict_differences(where, golden, ours)
    if golden is None or ours is None or golden.code != ours.code:
        return
    for name in ("raw", "scores"):
        theirs, own = getattr(golden, name), getattr(ours, name)
        for plugin in sorted(theirs.keys() | own.keys()):
            # A plugin that one side leaves out adds nothing to any node.
            yield from _difference(f"{where}{name} of {plugin}", theirs.get(plugin, 0), own.get(plugin, 0))
    yield from _difference(f"{where}total", golden.total, ours.total)


def _verdict_differences(where: str, golden: Verdict | None, ours: Verdict | None) -> Iterator[str]:
    if golden is None or ours is None:
        yield from _difference(f"{where}verdict", golden, ours)
        return
    for name in _VERDICT_FIELDS:
        yield from _difference(where + name, getattr(golden, name), getattr(ours, name))


def _message_difference(golden: str, ours: str, *, preemption: bool) -> Iterator[str]:
    if not preemption:
        golden, ours = (message.partition(_PREEMPTION_PART)[0] for message in (golden, ours))
    yield from _difference("message", golden, ours)


def _difference(what: str, golden: object, ours: object) -> Iterator[str]:
    if golden != ours:
        yield f"{what}: kube-scheduler {golden!r}, Podium {ours!r}"
