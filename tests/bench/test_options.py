"""Options from the command line and the environment."""

import pytest

from tests.bench.options import Only, read_options

NAMES = ("WORKLOAD", "NODES", "PODS", "PAIRS", "POD_KB", "ONLY", "VICTIMS_EACH")


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No option stands in the environment of the test run."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def test_sizes_are_those_of_the_workload() -> None:
    """Without any option `plain` runs with its own sizes, and its limit."""
    options = read_options([])
    assert (options.workload.name, options.nodes, options.pods, options.pairs) == ("plain", 5000, 10_000, 3)
    assert (options.pod_kb, options.only, options.with_limit) == (0, None, True)


def test_environment_gives_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make bench` passes its parameters on through the environment."""
    for name, value in zip(NAMES, ("preemption", "200", "150", "1", "6", "podium", "3"), strict=True):
        monkeypatch.setenv(name, value)
    options = read_options([])
    assert (options.workload.name, options.nodes, options.pods, options.pairs) == ("preemption", 200, 150, 1)
    assert (options.pod_kb, options.only, options.victims_each) == (6, Only.PODIUM, 3)


def test_the_command_line_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An explicit option wins; an empty variable is none."""
    monkeypatch.setenv("PODS", "300")
    monkeypatch.setenv("NODES", "")
    options = read_options(["--pods", "400", "--no-limit"])
    assert (options.pods, options.nodes, options.with_limit) == (400, 5000, False)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("WORKLOAD", "nonsense", "WORKLOAD=nonsense: choose from plain, distinct"),
        ("ONLY", "both", "ONLY=both: choose from peer, podium"),
        ("NODES", "many", "--nodes: invalid"),
        ("PAIRS", "0", "--pairs: 0 is not at least 1"),
        ("POD_KB", "-1", "--pod-kb: -1 is negative"),
        ("NODES", "10", "10 nodes have room for 300 pods, not for 10,000"),
        ("VICTIMS_EACH", "1", "VICTIMS_EACH=1: the workload plain has 0 pods to evict on a node"),
    ],
)
def test_a_wrong_value_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, message: str
) -> None:
    """One clear line on stderr, and exit code 2."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match="2"):
        read_options([])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("victims", "pods", "message"),
    [
        ("5", "1", "VICTIMS_EACH=5: the workload preemption has 4 pods to evict on a node"),
        ("3", "11", "10 nodes have room for 10 pods, not for 11"),
        ("2", "21", "10 nodes have room for 20 pods, not for 21"),
    ],
)
def test_preemptors_need_nodes_with_enough_victims(
    capsys: pytest.CaptureFixture[str], victims: str, pods: str, message: str
) -> None:
    """A node has room for as many preemptors as it has sets of victims."""
    with pytest.raises(SystemExit, match="2"):
        read_options(["--workload", "preemption", "--nodes", "10", "--pods", pods, "--victims-each", victims])
    assert message in capsys.readouterr().err
