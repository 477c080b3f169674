"""Following a run by sightings."""

import pytest

from tests.bench.errors import BenchError
from tests.bench.progress import Progress
from tests.bench.sightings import Sight


def test_complete_when_every_pod_is_bound_and_has_its_event() -> None:
    """The last event counts as much as the last bind."""
    progress = Progress(["a", "b"])
    sightings = [
        (Sight.BOUND, "a", 1.0),
        (Sight.BOUND, "b", 2.0),
        (Sight.SCHEDULED, "a", 2.5),
        (Sight.SCHEDULED, "b", 3.0),
    ]
    was_complete = []
    for sighting in sightings:
        progress.add([sighting])
        was_complete.append(progress.is_complete)
    assert was_complete == [False, False, False, True]
    assert (progress.first_act_seconds, progress.last_bind_seconds, progress.end_seconds) == (1.0, 2.0, 3.0)


def test_the_end_may_be_a_bind() -> None:
    """Streams have no common order: an event may be seen before the bind."""
    progress = Progress(["a"])
    progress.add([(Sight.SCHEDULED, "a", 3.0), (Sight.BOUND, "a", 4.0)])
    assert progress.end_seconds == 4.0


@pytest.mark.parametrize("sight", [Sight.BOUND, Sight.NOMINATED, Sight.CHANGED, Sight.GONE])
def test_every_act_starts_the_clock(sight: Sight) -> None:
    """Whatever a scheduler does first is where time begins; later acts do not move it."""
    progress = Progress(["a"])
    progress.add([(sight, "a", 5.0), (Sight.CHANGED, "victim", 6.0)])
    assert progress.first_act_seconds == 5.0


def test_an_event_is_not_an_act() -> None:
    """An event comes after what it reports."""
    progress = Progress(["a"])
    progress.add([(Sight.SCHEDULED, "a", 5.0)])
    assert progress.first_act_seconds is None


@pytest.mark.parametrize(("sight", "fault"), [(Sight.BOUND, "bound twice"), (Sight.SCHEDULED, "two Scheduled events")])
def test_nothing_may_happen_twice(sight: Sight, fault: str) -> None:
    """A second binding or event of a pod fails the run."""
    progress = Progress(["a", "b"])
    with pytest.raises(BenchError, match=f"pod a .*{fault}"):
        progress.add([(sight, "a", 1.0), (sight, "a", 2.0)])


@pytest.mark.parametrize("sight", [Sight.BOUND, Sight.SCHEDULED])
def test_a_foreign_pod_fails_the_run(sight: Sight) -> None:
    """Somebody else schedules, and so the figures are worth nothing."""
    with pytest.raises(BenchError, match="pod stranger was scheduled"):
        Progress(["a"]).add([(sight, "stranger", 1.0)])


def test_progress_in_words() -> None:
    """What a timeout tells the user."""
    progress = Progress(["a", "b"])
    progress.add([(Sight.BOUND, "a", 1.0)])
    assert str(progress) == "1 of 2 pods bound, 0 Scheduled events"
