"""Makes room for a pod by evicting pods of lower priority."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from scheduler.api.types import nominated_node
from scheduler.config.plugin_args import DefaultPreemptionArgs
from scheduler.core.framework.events import RegisteredEvent
from scheduler.core.framework.interface import FailedAttempt, PostFilterPlugin, PostFilterResult
from scheduler.core.framework.status import Code, Status
from scheduler.core.preemption.evaluator import Evaluator, nothing_found_message
from scheduler.core.preemption.room import any_evicted_below

_NEVER: Final = "not eligible due to preemptionPolicy=Never."
_VICTIMS_LEAVING: Final = "not eligible due to a terminating pod on the nominated node."


class DefaultPreemption(PostFilterPlugin):
    """PostFilter: the node where evicting pods of lower priority does the least harm, with the pods to be evicted."""

    name: ClassVar[str] = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs) -> None:
        self._evaluator = Evaluator(args)

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Eligible? Then a dry run of the nodes where it may help, and the best of those where it does."""
        attempt.recorder.preemption_attempt()
        why_not = ineligible(attempt)
        if why_not:
            return _nothing(why_not)
        # Whatever comes of it, the nomination from before is void; it must not count against the pod itself.
        if attempt.snapshot.nominator.remove(attempt.pod.uid) is not None:
            attempt.snapshot.refresh()
        candidates = self._evaluator.candidates(attempt)
        if not len(candidates.rows):
            return _nothing(nothing_found_message(attempt, candidates), clears_nomination=True)
        row = int(candidates.best()[0])
        victims = candidates.runs.victims_on(row, attempt.check)
        node_name = attempt.snapshot.nodes.names[row]
        message = f"found a potential placement for pod on node {node_name}, preempting {len(victims)} victims"
        return PostFilterResult(None, _told(message), node_name, victims)

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """None: it turns nobody away. A preemptor stays in flight until its evictions are out."""
        return ()


def _told(message: str) -> str:
    return f"preemption: {message}"


def _nothing(why: str, *, clears_nomination: bool = False) -> PostFilterResult:
    message = _told(why)
    return PostFilterResult(Status.of(Code.UNSCHEDULABLE, message), message, clears_nomination=clears_nomination)


def ineligible(attempt: FailedAttempt) -> str:
    """Why the pod may not preempt now; empty when it may."""
    pod, snapshot = attempt.pod, attempt.snapshot
    if pod.pod.spec.preemption_policy == "Never":
        return _NEVER
    nominated = snapshot.nominator.node_of(pod.uid)
    if nominated is None and not pod.pod.status.nominated_node_name:
        # What the status says, the nominator knows better: a nomination may have been withdrawn since.
        nominated = nominated_node(pod.pod)
    row = None if nominated is None else snapshot.nodes.row_of(nominated)
    # A nominated node that no removal of pods can make fit any more is worth no further wait.
    if row is None or row not in attempt.rows:
        return ""
    node = snapshot.node_info(row)
    leaving = node is not None and any_evicted_below(pod, node.pods.values())
    return _VICTIMS_LEAVING if leaving else ""
