"""The recipe of the image: its steps are carried out in a clean directory, and what comes out is Podium."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.integration.dockerfile import Image, Instruction, instructions

_CHECKOUT = Path(__file__).parents[2]
_RECIPE = tuple(instructions(_CHECKOUT / "Dockerfile"))


def copied_from_checkout() -> set[str]:
    """What the recipe takes from the checkout."""
    copies = [step.arguments.split()[:-1] for step in _RECIPE if step.name == "COPY" and "--from" not in step.arguments]
    return {source for sources in copies for source in sources}


def test_the_recipe_is_clean() -> None:
    """hadolint finds nothing."""
    found = subprocess.run([Path(sys.executable).with_name("hadolint"), "Dockerfile"], cwd=_CHECKOUT, check=False)
    assert found.returncode == 0


def test_the_recipe_makes_a_podium_that_runs(tmp_path: Path) -> None:
    """Nothing but the locks, Podium's own files and the registry is needed; of the build nothing is left but the end.

    Neither pip nor its cache is there at run time, and the process is nobody's that has a name.
    """
    image = Image(_CHECKOUT, tmp_path)
    image.build(_RECIPE)
    assert image.entrypoint == ["podium"]
    told = image.run([*image.entrypoint, "version"])
    assert (told.stdout, told.returncode) == (f"podium {version('podium-scheduler')}\n", 0), told.stderr
    told = image.run([*image.entrypoint, "run", "--help"])
    assert "--bind-address" in told.stdout
    # Far enough that everything is imported.
    told = image.run([*image.entrypoint, "run", "--kubeconfig", "absent"])
    assert told.stderr.endswith("podium: kubeconfig absent: no such file; check --kubeconfig or KUBECONFIG\n")
    assert not image.cache.exists()
    assert not [*image.root.rglob("pip")]
    assert {path.name for path in image.root.iterdir()} == {"opt", "usr"}
    user, _, group = image.user.partition(":")
    assert int(user) > 0
    assert int(group) > 0


def test_a_step_that_fails_is_told(tmp_path: Path) -> None:
    """The test above can fail."""
    image = Image(_CHECKOUT, tmp_path)
    with pytest.raises(ValueError, match="No module named nonsense"):
        image.build([Instruction("FROM", "python"), Instruction("RUN", "python3 -m nonsense && true")])


def test_the_build_gets_no_more_than_it_needs() -> None:
    """What .dockerignore lets through is what the recipe copies."""
    lines = (_CHECKOUT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if not line.startswith("#")]
    assert patterns[0] == "*"
    assert {pattern.removeprefix("!") for pattern in patterns if pattern.startswith("!")} == copied_from_checkout()


def test_the_wheel_is_built_with_what_developers_build_with() -> None:
    """Each entry of the lock for the build is one of the lock for developers, hashes and all."""
    locks = [
        (_CHECKOUT / name).read_text(encoding="utf-8") for name in ("requirements-build.txt", "requirements-dev.txt")
    ]
    build, dev = (lock.replace("\\\n", "").splitlines() for lock in locks)
    assert build
    assert set(build) <= set(dev)
