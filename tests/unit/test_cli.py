"""The command line: what reaches the process, and how a mistake is told."""

import io
import runpy
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scheduler import cli
from scheduler.config.loading import load_configuration
from scheduler.config.run_options import RunOptions
from scheduler.config.view import configuration_view
from scheduler.telemetry import logging as telemetry_logging

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RunOptions]]:
    """The options that reached the composition root; nothing is started and logging stays as it is."""
    options: list[RunOptions] = []

    def run(given: RunOptions) -> int:
        options.append(given)
        return 7

    app = types.ModuleType("scheduler.app")
    app.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scheduler.app", app)
    levels: list[int] = []
    monkeypatch.setattr(telemetry_logging, "configure_logging", levels.append)
    yield options
    assert levels == [given.verbosity for given in options]


def test_run_needs_no_flags(started: list[RunOptions]) -> None:
    """Without flags the defaults run, and the exit code is the process's own."""
    assert cli.main(["run"]) == 7
    (options,) = started
    assert list(options.loaded.plugins) == ["podium"]
    assert options.kubeconfig is None
    assert (options.bind_address, options.metrics_port, options.verbosity) == ("127.0.0.1", 10251, 0)
    host, _, unique = options.identity.partition("_")
    assert host
    assert len(unique) == 36


def test_flags_reach_the_process(started: list[RunOptions], tmp_path: Path) -> None:
    """Every flag arrives; the flag for the kubeconfig goes before the file's field."""
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEADER}clientConnection: {{kubeconfig: /from/file}}\nprofiles: [{{schedulerName: batch}}]\n")
    flags = ["--config", str(config), "--bind-address", "::1", "--metrics-port", "0", "--v", "10", "--identity", "one"]
    assert cli.main(["run", *flags, "--kubeconfig", "/from/flag"]) == 7
    assert cli.main(["run", *flags]) == 7
    with_flag, without_flag = started
    assert list(with_flag.loaded.plugins) == ["batch"]
    assert (with_flag.bind_address, with_flag.metrics_port, with_flag.verbosity) == ("::1", 0, 10)
    assert with_flag.identity == "one"
    assert with_flag.kubeconfig == "/from/flag"
    assert without_flag.kubeconfig == "/from/file"


def test_identities_differ(started: list[RunOptions]) -> None:
    """Two replicas on one host have different names."""
    cli.main(["run"])
    cli.main(["run"])
    assert started[0].identity != started[1].identity


def test_an_odd_host_name_still_gives_an_identity(started: list[RunOptions], monkeypatch: pytest.MonkeyPatch) -> None:
    """What no header can hold is replaced, and a name without anything usable is podium."""
    for host, expected in (("höst.example", "h-st.example"), ("---", "podium"), ("a" * 300, "a" * 64)):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        cli.main(["run"])
        assert started[-1].identity.startswith(f"{expected}_")


def test_taking_over_needs_the_flag(
    started: list[RunOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cluster's own name is refused without --take-over and served with it."""
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEADER}profiles: [{{schedulerName: default-scheduler}}]\n")
    assert cli.main(["run", "--config", str(config)]) == 1
    assert started == []
    assert "--take-over" in capsys.readouterr().err
    assert cli.main(["run", "--config", str(config), "--take-over"]) == 7


def test_all_faults_of_a_configuration_are_listed(
    started: list[RunOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a fault on stderr, exit code 1, and nothing is started."""
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEADER}paralelism: 3\npodInitialBackoffSeconds: 0\n")
    assert cli.main(["run", "--config", str(config)]) == 1
    assert started == []
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines() == [
        f'{config}: paralelism: unknown field (did you mean "parallelism"?)',
        f"{config}: podInitialBackoffSeconds: 0 is not above 0",
    ]


def test_a_missing_configuration_is_one_line(started: list[RunOptions], capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there is named."""
    assert cli.main(["run", "--config", "/no/such/file"]) == 1
    expected = "/no/such/file: cannot be read: No such file or directory (name a file that can be read)\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "podium: the following arguments are required: COMMAND"),
        (["fly"], "podium: argument COMMAND: invalid choice: 'fly'"),
        (["run", "--flag"], "podium: unrecognized arguments: --flag"),
        (["run", "--conf", "x"], "podium: unrecognized arguments: --conf x"),
        (["run", "x"], "podium: unrecognized arguments: x"),
        (["run", "--config"], "podium run: argument --config: expected one argument"),
        (["run", "--kubeconfig", ""], "podium run: argument --kubeconfig: expected a value, got nothing"),
        (["run", "--bind-address", "localhost"], "argument --bind-address: 'localhost' is no IP address; write an IP"),
        (["run", "--metrics-port", "70000"], "'70000' is not a whole number from 0 to 65535"),
        (["run", "--metrics-port", "-1"], "podium run: argument --metrics-port: "),
        (["run", "--metrics-port", "9" * 5000], "is not a whole number from 0 to 65535"),
        (["run", "--v", "11"], "podium run: argument --v: '11' is not a whole number from 0 to 10"),
        (["run", "--v", "1.5"], "'1.5' is not a whole number from 0 to 10"),
        (["run", "--identity", "a b"], "argument --identity: 'a b' does not name a replica"),
        (["run", "--identity", "a\nb"], "does not name a replica"),
        (["run", "--identity", "a" * 129], "does not name a replica"),
        (["config"], "podium config: the following arguments are required: ACTION"),
        (["config", "check"], "podium config check: the following arguments are required: FILE"),
        (["config", "show", "-o", "xml"], "podium config show: argument -o/--output: invalid choice: 'xml'"),
        (["version", "--x"], "podium: unrecognized arguments: --x"),
    ],
)
def test_a_bad_command_line_is_one_line(
    started: list[RunOptions], capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    """It names the flag and what is wrong, leads to the help, and exits with 2."""
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert started == []
    output = capsys.readouterr()
    assert output.out == ""
    assert expected in output.err
    assert output.err.endswith("--help)\n")
    assert output.err.count("\n") == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The product and its version, on stdout."""
    assert cli.main(["version"]) == 0
    assert capsys.readouterr().out.startswith("podium 0.")


def test_checking_a_good_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told to be valid, with what has no effect, and the exit code is 0."""
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEADER}parallelism: 3\n")
    assert cli.main(["config", "check", str(config)]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert output.out.splitlines() == [
        f"{config}: note: parallelism has no effect: plugins work on all nodes at once",
        f"{config}: valid",
    ]


def test_checking_a_file_with_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All faults, and what has no effect besides; the exit code is 2, unless --take-over allows the only fault."""
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEADER}parallelism: 3\nprofiles: [{{schedulerName: default-scheduler}}]\n")
    assert cli.main(["config", "check", str(config)]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"{config}: profiles[0].schedulerName: ")
    assert output.out == f"{config}: note: parallelism has no effect: plugins work on all nodes at once\n"
    assert cli.main(["config", "check", "--take-over", str(config)]) == 0


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_what_is_shown_means_the_same(output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The effective configuration of a file is printed as a file that is effective as it stands."""
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEADER}profiles: [{{schedulerName: batch, percentageOfNodesToScore: 0}}]\n")
    assert cli.main(["config", "show", str(config), "-o", output]) == 0
    shown = capsys.readouterr().out
    config.write_text(shown)
    assert cli.main(["config", "show", str(config), "-o", output]) == 0
    assert capsys.readouterr().out == shown
    assert load_configuration(config).configuration.profiles[0].percentage_of_nodes_to_score == 0


def test_the_defaults_are_shown_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """They are those of `podium run` without a configuration."""
    assert cli.main(["config", "show"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown == configuration_view(load_configuration(None).configuration)


def test_a_file_with_faults_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its faults are told instead, with exit code 2."""
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEADER}parallelism: 0\n")
    assert cli.main(["config", "show", str(config)]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"{config}: parallelism: 0 is not above 0\n")


@pytest.mark.parametrize(
    "command", [[], ["run"], ["config"], ["config", "check"], ["config", "show"], ["version"]], ids=" ".join
)
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Help goes to stdout with exit code 0."""
    with pytest.raises(SystemExit) as ended:
        cli.main([*command, "--help"])
    assert ended.value.code == 0
    assert "podium" in capsys.readouterr().out


def test_the_module_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m scheduler version` prints what `podium version` prints."""
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(sys, "argv", ["scheduler", "version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("scheduler", run_name="__main__")
    assert ended.value.code == 0
    assert output.getvalue().startswith("podium ")
