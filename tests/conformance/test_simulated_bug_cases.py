"""Bug reports about real schedulers, told as clusters: `podium simulate` gives each the right answer from its files."""

from pathlib import Path

import msgspec
import pytest

from scheduler.config.loading import parse_configuration
from scheduler.simulator.cluster_input import read_cluster
from scheduler.simulator.documents import read_file, read_objects
from scheduler.simulator.results import Outcome, PodResult
from scheduler.simulator.simulation import simulate
from tests.integration import test_bug_cases
from tests.integration.test_bug_cases import Answer, Expectation, reasons

_FOLDERS = sorted(Path(test_bug_cases.__file__).with_name("bugcases").iterdir())
_CONFIG = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: second-scheduler}]
"""


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda folder: folder.name)
def test_answer_is_right(folder: Path) -> None:
    """Outcome, node, victims and reasons are those of the report's answer; a preemptor then has the room it made."""
    files = [str(folder / name) for name in ("cluster.yaml", "pending.yaml")]
    found = (each for name in files for each in read_objects(read_file(name), name))
    loaded = parse_configuration(_CONFIG, source="config", take_over=True)
    simulation = simulate(read_cluster(found, "second-scheduler"), loaded, seed=0)
    expected = msgspec.yaml.decode((folder / "expect.yaml").read_bytes(), type=Expectation)
    results = {result.key: result for result in simulation.pods}
    for answer in (expected, *expected.others):
        assert_given(results[answer.pod], answer)
    assert {eviction.pod for eviction in simulation.evictions} == set(expected.victims)


def assert_given(result: PodResult, answer: Answer) -> None:
    """The pod's answer is this one."""
    nodes = {answer.node} if answer.node is not None else {*answer.nodes}
    if answer.outcome is test_bug_cases.Outcome.UNSCHEDULABLE:
        assert (result.outcome, result.node_name) == (Outcome.UNSCHEDULABLE, "")
    else:
        assert (result.outcome, result.node_name in nodes) == (Outcome.PLACED, True)
    if answer.outcome is not test_bug_cases.Outcome.BOUND:
        assert reasons(result.message, answer.reasons) == answer.reasons
    if answer.outcome is test_bug_cases.Outcome.PREEMPT:
        assert result.nominated_node == result.node_name
