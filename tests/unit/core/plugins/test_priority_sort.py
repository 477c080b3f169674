"""PrioritySort: the order of the active queue."""

from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.plugins.priority_sort import PrioritySort
from scheduler.testing import make_pod
from tests.unit.core.plugins.asking import parsed


def test_priority_comes_before_time() -> None:
    """Higher priority first, then the pod that entered earlier; no priority is 0."""
    queued = [
        QueuedPodInfo(parsed(make_pod("late").priority(5)), timestamp=3.0),
        QueuedPodInfo(parsed(make_pod("negative").priority(-1)), timestamp=0.0),
        QueuedPodInfo(parsed(make_pod("none")), timestamp=1.0),
        QueuedPodInfo(parsed(make_pod("early").priority(5)), timestamp=2.0),
    ]
    order = [each.pod_info.name for each in sorted(queued, key=PrioritySort().sort_key)]
    assert order == ["early", "late", "none", "negative"]
