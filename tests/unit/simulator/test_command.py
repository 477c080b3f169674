"""`podium simulate` as a whole, in this process: exit codes, what is written where, and that no input breaks it."""

import io
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from scheduler import cli
from scheduler.simulator.command import ALL_PLACED, BAD_INPUT, SOME_NOT_PLACED, Output, SimulateOptions, run_simulation
from scheduler.telemetry import logging as telemetry_logging
from tests.unit.simulator.clusters import HEADER, node, pod

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Simulate one file of this content; exit code, output, errors."""

    def simulate(
        content: str | bytes, output: Output = Output.TEXT, config: Path | None = None
    ) -> tuple[int, str, str]:
        path = tmp_path / "in.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        code = run_simulation(SimulateOptions(files=(str(path),), config=config, seed=0, output=output))
        captured = capsys.readouterr()
        return code, captured.out.replace(str(path), "in.yaml"), captured.err.replace(str(path), "in.yaml")

    return simulate


def test_all_placed(run: Run) -> None:
    """A table row with node and reason, and the summary as the last line."""
    code, out, err = run(node("n1") + node("n2", spec="{unschedulable: true}") + pod("a"))
    assert (code, err) == (ALL_PLACED, "")
    assert out.splitlines() == [
        "Placed",
        "POD        NODE  WHY                      RUNNER-UP",
        "default/a  n1    the only node that fits",
        "",
        "1 pod, 2 nodes: 1 placed",
    ]


def test_some_not_placed(run: Run) -> None:
    """Pods that fail alike stand together, with the nodes of each reason; the rest of the story has its own tables."""
    text = "".join(node(f"n{number}") for number in range(1, 6)) + node("n6", spec="{unschedulable: true}")
    text += pod("big-1", cpu="9") + pod("big-2", cpu="9") + pod("big-3", cpu="9")
    text += pod("held", "schedulingGates: [{name: g}]") + pod("theirs", "schedulerName: default-scheduler")
    text += pod("lost", "nodeName: n9")
    code, out, _ = run(text)
    assert code == SOME_NOT_PLACED
    lines = [" ".join(line.split()) for line in out.splitlines()]
    message = "0/6 nodes are available: 1 node(s) were unschedulable, 5 Insufficient cpu."
    assert any(line.startswith(f"default/big-[1-3] {message}") for line in lines)
    assert "Insufficient cpu (NodeResourcesFit) n[1-5]" in lines
    assert "node(s) were unschedulable (NodeUnschedulable) n6" in lines
    assert "default/held waiting for scheduling gates: [g]" in lines
    assert "default-scheduler 1" in lines
    assert any(
        "Pod default/lost, spec.nodeName there is no node n9: the pod takes room nowhere" in line for line in lines
    )
    assert lines[-1] == (
        "4 pods, 6 nodes: 0 placed, 3 unschedulable, 1 gated; 1 pending pod of other schedulers; 1 warning"
    )


def test_scores_and_evictions_are_told(run: Run) -> None:
    """The winner's total by plugin, the runner-up with what it lacks, ties, and who fell for whom."""
    text = node("n1", cpu="4") + node("n2") + pod("a", cpu="1")
    code, out, _ = run(text)
    (line,) = [line for line in out.splitlines() if line.startswith("default/a")]
    assert " = TaintToleration 300 + NodeResourcesFit " in line
    assert "; 2 nodes fit" in line
    assert "  n2, " in line
    assert "(NodeResourcesFit -" in line
    _, out, _ = run(node("n1") + node("n2") + pod("a"))
    assert "as good (2 nodes tie, chance decided)" in out
    code, out, _ = run(node("n1") + pod("old", "nodeName: n1", cpu="2") + pod("urgent", "priority: 5"))
    assert code == ALL_PLACED
    assert "its nominated node; evicted default/old" in out
    assert "default/old  n1    0         default/urgent" in out


def test_json(run: Run) -> None:
    """One object of the documented shape."""
    text = node("n1") + node("n2", cpu="4") + pod("a") + pod("b", cpu="9") + pod("c", "schedulerName: x")
    text += pod("lost", "nodeName: n9")
    code, out, _ = run(text, Output.JSON)
    answer = msgspec.json.decode(out)
    assert code == SOME_NOT_PLACED
    assert list(answer) == ["apiVersion", "kind", "summary", "pods", "evicted", "notOurs", "warnings"]
    assert (answer["apiVersion"], answer["kind"]) == ("podium.dev/v1alpha1", "Simulation")
    assert answer["summary"] == {
        "nodes": 2,
        "pods": 2,
        "placed": 1,
        "unschedulable": 1,
        "gated": 0,
        "skipped": 0,
        "failed": 0,
        "evicted": 0,
        "notOurs": 1,
        "warnings": 1,
    }
    placed, failed = answer["pods"]
    assert (placed["name"], placed["outcome"], placed["node"], placed["feasibleNodes"]) == ("a", "Placed", "n2", 2)
    assert placed["scores"]["total"] == sum(placed["scores"]["byPlugin"].values())
    assert placed["runnerUp"]["node"] == "n1"
    assert (failed["outcome"], failed["node"], failed["scores"]) == ("Unschedulable", None, None)
    (rejection,) = failed["rejections"]
    assert rejection == {
        "plugin": "NodeResourcesFit",
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["Insufficient cpu"],
        "nodes": ["n1", "n2"],
    }
    assert answer["notOurs"] == [{"pod": "default/c", "schedulerName": "x"}]
    (warning,) = answer["warnings"]
    assert (warning["document"], warning["object"], warning["field"]) == (6, "Pod default/lost", "spec.nodeName")


def test_bad_input(run: Run, tmp_path: Path) -> None:
    """Each fault on a line of its own on stderr, and nothing else; a bad configuration likewise."""
    code, out, err = run(pod("a", cpu="x") + "kind: Pod\n")
    assert (code, out) == (BAD_INPUT, "")
    assert [line.partition(": ")[2].partition(",")[0] for line in err.splitlines()] == ["in.yaml", "in.yaml"]
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEADER}parallelism: x\nprofiles: 3\n")
    code, out, err = run(pod("a"), config=config)
    assert (code, out) == (BAD_INPUT, "")
    assert all(line.startswith(f"podium: {config}: ") for line in err.splitlines())
    assert len(err.splitlines()) == 2


def test_a_file_that_cannot_be_used_hides_no_fault_of_another(run: Run) -> None:
    """Nor does one that is not there."""
    asked = SimulateOptions(files=("no-1.yaml", "no-2.yaml"), config=None, seed=0, output=Output.TEXT)
    assert run_simulation(asked) == BAD_INPUT
    assert run("")[2].count("\n") == 3


def test_text_of_the_input_breaks_no_line(run: Run) -> None:
    """Nor does it steer the terminal: neither in the tables nor in a fault."""
    assert "waiting for scheduling gates: [a\\n\\x1b[1m]" in run(pod("p", 'schedulingGates: [{name: "a\\n\\e[1m"}]'))[1]
    assert len(run(pod("p", metadata='labels: {a: "b\\nc"}'))[2].splitlines()) == 1


def test_oddities_are_warnings(run: Run) -> None:
    """What could stand in a cluster, but was hardly meant."""
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {}}}\nspec: {{volumeName: {}}}\n---\n"
    volume = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\n---\n"
    text = node("n1", cpu="1") + "apiVersion: v1\nkind: Node\nmetadata: {name: n2}\n---\n"
    text += pod("a", "nodeName: n1", cpu="3") + pod("b", "nodeName: n1", status="{nominatedNodeName: n1}")
    text += pod("c", status="{nominatedNodeName: n7}") + claim.format("c1", "v") + claim.format("c2", "v")
    text += claim.format("c3", "w") + volume
    _, out, _ = run(text)
    told = [" ".join(line.split()) for line in out.partition("Warnings\n")[2].splitlines()[1:-2]]
    assert told == [
        "in.yaml, document 5, Pod default/c, status.nominatedNodeName there is no node n7",
        "in.yaml, document 1, Node n1 its pods take more than is allocatable of cpu",
        "in.yaml, document 2, Node n2, status.allocatable is missing, and so is capacity: nothing fits there",
        (
            "in.yaml, document 7, PersistentVolumeClaim default/c2, spec.volumeName "
            "PersistentVolume v is bound to claim default/c1 already"
        ),
        "in.yaml, document 8, PersistentVolumeClaim default/c3, spec.volumeName there is no PersistentVolume w",
    ]


def test_nothing_to_do(run: Run) -> None:
    """Neither nodes nor pods: that is told, and no failure."""
    code, out, _ = run("apiVersion: v1\nkind: List\nitems: []\n")
    assert code == ALL_PLACED
    assert "there are no nodes" in out
    assert "no pending pod asks for podium" in out
    assert out.endswith("0 pods, 0 nodes: 0 placed; 2 warnings\n")


class Terminal(io.StringIO):
    """Takes what is written for a person."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_drawn_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words, wrapped to the width of the terminal; nothing in them is taken for markup."""
    path = tmp_path / "in.yaml"
    path.write_text(node("n1") + node("n2") + pod("a") + pod("held", "schedulingGates: [{name: red}]"))
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setattr(sys, "stdout", terminal)
    code = run_simulation(SimulateOptions(files=(str(path),), config=None, seed=0, output=Output.TEXT))
    assert code == SOME_NOT_PLACED
    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert all(len(line) <= 70 for line in lines)
    assert any("waiting for scheduling gates: [red]" in line for line in lines)
    assert lines[-1] == "2 pods, 2 nodes: 1 placed, 1 gated"


def test_the_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`-` stands for it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((node("n1") + pod("a")).encode())))
    assert run_simulation(SimulateOptions(files=("-",), config=None, seed=0, output=Output.TEXT)) == ALL_PLACED
    assert "default/a" in capsys.readouterr().out


def test_flags_reach_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every flag arrives, and nothing is logged."""
    given: list[SimulateOptions] = []
    silenced: list[None] = []

    def take(options: SimulateOptions) -> int:
        given.append(options)
        return 5

    monkeypatch.setattr("scheduler.simulator.command.run_simulation", take)
    monkeypatch.setattr(telemetry_logging, "silence_logging", lambda: silenced.append(None))
    flags = ["--config", "c", "--seed", "7", "-o", "json", "--from-cluster", "--kubeconfig", "k"]
    assert cli.main(["simulate", "a", "b", *flags]) == 5
    assert cli.main(["simulate", "a"]) == 5
    assert given == [
        SimulateOptions(
            files=("a", "b"), config=Path("c"), seed=7, output=Output.JSON, from_cluster=True, kubeconfig="k"
        ),
        SimulateOptions(files=("a",), config=None, seed=0, output=Output.TEXT),
    ]
    assert len(silenced) == 2


def test_an_interrupt_ends_it_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the exit code that shells have for it."""

    def interrupted(options: SimulateOptions) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("scheduler.simulator.command.run_simulation", interrupted)
    monkeypatch.setattr(telemetry_logging, "silence_logging", lambda: None)
    assert cli.main(["simulate", "a"]) == 130


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate"], "podium: simulate needs a file, or --from-cluster (see podium --help)\n"),
        (["simulate", "a", "--kubeconfig", "b"],
         "podium: --kubeconfig leads to a cluster that only --from-cluster reads (see podium --help)\n"),
        (["simulate", ""],
         "podium simulate: argument FILE: expected a value, got nothing (see podium simulate --help)\n"),
        (["simulate", "a", "--seed", "-1"],
         ("podium simulate: argument --seed: '-1' is not a whole number from 0 to 9223372036854775807 "
         "(see podium simulate --help)\n")),
    ],
)  # fmt: skip
def test_a_bad_command_line_is_told_in_one_line(
    arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, as for bad input."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == BAD_INPUT
    assert capsys.readouterr().err == message


GOOD = (
    node("n1") + node("n2") + pod("a", "priority: 3, tolerations: [{key: a, operator: Exists}]") + pod("b")
).encode()
PIECES = st.sampled_from(
    [
        *(b"\0", b"\xff", b"\n---\n", b"- ", b": ", b"{", b"}", b"[", b"]", b"&a ", b"*a", b"!!x ", b"'", b'"', b"\n"),
        *(b"\t", b"~", b"null", b"-1", b"1e400", b".inf", b"999999999999999999999", b"<<: ", b"|", b"? ", b"#", b"%"),
        *(b"kind: ", b"items:\n", b"apiVersion: v1\n"),
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_bytes_are_answered(run: Run, data: bytes) -> None:
    """Something is said about any file, and it is no traceback."""
    assert_answered(run(data), data)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_files_are_answered(run: Run, data: st.DataObject) -> None:
    """A good file with pieces cut out, put in or doubled."""
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(damaged)))
        end = min(len(damaged), start + data.draw(st.sampled_from([0, 0, 1, 3, 20])))
        damaged[start:end] = data.draw(st.one_of(PIECES, st.just(bytes(damaged[start : start + 30]))))
    assert_answered(run(bytes(damaged)), bytes(damaged))


def assert_answered(answer: tuple[int, str, str], data: bytes) -> None:
    code, out, err = answer
    assert code in (ALL_PLACED, SOME_NOT_PLACED, BAD_INPUT), data
    assert bool(err) is (code == BAD_INPUT)
    assert bool(out) is (code != BAD_INPUT)
    assert "Traceback" not in err


def test_the_example_gives_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """What docs/simulate.md shows is what the command says."""
    folder = Path(__file__).parents[3] / "examples" / "simulate"
    files = (str(folder / "cluster.yaml"), str(folder / "pending.yaml"))
    code = run_simulation(SimulateOptions(files=files, config=None, seed=0, output=Output.TEXT))
    assert (code, capsys.readouterr().out) == (SOME_NOT_PLACED, (folder / "answer.txt").read_text())


def test_a_reader_who_has_seen_enough_is_no_fault(tmp_path: Path) -> None:
    """`podium simulate … | head -1` ends quietly, with its own exit code."""
    path = tmp_path / "in.yaml"
    path.write_text("".join(node(f"n{number}") for number in range(3)) + "".join(pod(f"p{n}") for n in range(400)))
    command = [sys.executable, "-m", "scheduler", "simulate", "-o", "json", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == SOME_NOT_PLACED
