"""The heap with lazy deletion under the queues."""

from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.queue.entry import Entry
from scheduler.core.queue.lazy_heap import LazyHeap
from tests.unit.core.queue.harness import pod_info

POD = pod_info()


def _entry() -> Entry:
    return Entry(QueuedPodInfo(POD, 0.0))


def test_equal_keys_leave_in_order_of_arrival() -> None:
    """Ties are broken by arrival, also for an entry that left and came back."""
    heap = LazyHeap(count(1))
    first, second = _entry(), _entry()
    heap.push((1,), first)
    heap.push((1,), second)
    heap.discard(first)
    heap.push((1,), first)

    assert [heap.pop(), heap.pop(), heap.pop()] == [second, first, None]


def test_an_entry_that_moved_to_another_heap_is_gone_from_the_first() -> None:
    """A stale item is not taken for the live one of another heap."""
    tickets = count(1)
    left, right = LazyHeap(tickets), LazyHeap(tickets)
    entry = _entry()
    left.push((1,), entry)
    left.discard(entry)
    right.push((1,), entry)

    assert (left.peek(), left.pop(), left.live) == (None, None, 0)
    assert right.peek() is entry


def test_garbage_is_bounded() -> None:
    """However many entries come and go below the top, the heap holds at most as many stale items as live ones."""
    heap = LazyHeap(count(1))
    stay = [_entry() for _ in range(100)]
    for number, entry in enumerate(stay):
        heap.push((number,), entry)
    for number in range(10_000):
        passing = _entry()
        heap.push((1000 + number,), passing)
        heap.discard(passing)

    assert len(heap._items) <= 2 * len(stay) + 1
    assert heap.ordered() == stay
    assert [heap.pop() for _ in stay] == stay


@given(st.lists(st.tuples(st.sampled_from(["push", "pop", "discard"]), st.integers(0, 9), st.integers(0, 400))))
def test_the_heap_behaves_as_a_sorted_list(steps: list[tuple[str, int, int]]) -> None:
    """Any sequence of pushes, pops and discards gives what a list sorted by key and arrival gives."""
    heap = LazyHeap(count(1))
    model: list[tuple[int, int, Entry]] = []
    arrivals = count()
    for step, key, choice in steps:
        if step == "push":
            entry = _entry()
            heap.push((key,), entry)
            model.append((key, next(arrivals), entry))
            model.sort(key=lambda item: item[:2])
        elif step == "pop":
            assert heap.pop() is (model.pop(0)[2] if model else None)
        elif model:
            heap.discard(model.pop(choice % len(model))[2])
        assert heap.live == len(model)
        assert heap.peek() is (model[0][2] if model else None)
    assert heap.ordered() == [entry for _, _, entry in model]
