"""How much of a case is compared while preemption is not complete."""

from tests.conformance.case import Case

_NOT_IN_DRY_RUNS_YET = (
    b'"kind":"PodDisruptionBudget"',
    b'"topologySpreadConstraints"',
    b'"persistentVolumeClaim"',
    b'"ephemeral":',
    b'"gcePersistentDisk"',
    b'"awsElasticBlockStore"',
    b'"iscsi"',
    b'"rbd"',
    b'"resourceClaims"',
)
"""What preemption has to do with and leaves out so far: budgets, and filters that look at more than one node's sums."""


def preemption_is_comparable(case: Case) -> bool:
    """Whether what preemption finds must equal kube-scheduler's: victims, refused nodes and the end of the message."""
    return not any(word in bytes(raw) for raw in case.objects for word in _NOT_IN_DRY_RUNS_YET)
