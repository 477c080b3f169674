"""How much of a case is compared while preemption is not complete."""

import msgspec

from tests.conformance.case import Case

_LIMITED = b"minCandidateNodes"
_BUDGET = b'"kind":"PodDisruptionBudget"'


def preemption_is_comparable(case: Case) -> bool:
    """Whether what preemption finds must equal kube-scheduler's: victims, refused nodes and the end of the message.

    PodDisruptionBudgets do not count yet, and a limited number of candidates is taken in the order of rows, where the
    oracle goes by name.
    """
    limited = _LIMITED in msgspec.json.encode(case.config)
    return not limited and not any(_BUDGET in bytes(raw) for raw in case.objects)
