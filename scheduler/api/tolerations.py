"""Taints and tolerations (section "TaintToleration" of kube-scheduler's behaviour)."""

from scheduler.api.node import Taint
from scheduler.api.pod import Toleration


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a pod with the toleration bears the taint.

    No effect means every effect, no key every key, no operator Equal. The operators Gt and Lt are alpha and off in
    Kubernetes 1.37: such a toleration bears nothing, as one with an unknown operator.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in {None, "", "Equal"} and (toleration.value or "") == (taint.value or "")
