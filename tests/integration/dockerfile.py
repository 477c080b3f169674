"""Carries out a Dockerfile without Docker: its COPY and RUN steps, with a directory in place of the root.

Only what this project's Dockerfile uses is understood; anything else is a ValueError. In place of a base image there is
`python3`, the interpreter of the tests. Each stage has the same directory, empty at first, for a virtual environment
works only where it was made; it is moved away when the next stage begins.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec


class Instruction(NamedTuple):
    """A line of a Dockerfile, its continuations joined."""

    name: str
    arguments: str


def instructions(dockerfile: Path) -> Iterator[Instruction]:
    """What a Dockerfile asks for, in order."""
    lines = dockerfile.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if line and not line.startswith("#"))
    for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        name, _, arguments = line.partition(" ")
        yield Instruction(name, arguments)


class Image:
    """What a Dockerfile makes, in `root`; the attributes are those of the stage that came last."""

    def __init__(self, context: Path, directory: Path) -> None:
        """`context` is what COPY copies from; `directory` takes the stages."""
        self.root = directory / "root"
        self.cache = directory / "cache"
        """Where pip keeps what it downloads, unless it is told not to."""
        self.search_path: list[Path] = []
        self.user = ""
        self.entrypoint: list[str] = []
        self._context = context
        self._directory = directory
        self._working_directory = self.root
        self._stage = ""

    def build(self, asked: Sequence[Instruction]) -> None:
        """Carry out all instructions. Raises ValueError for one that is not understood, or a RUN that fails."""
        for name, arguments in asked:
            match name:
                case "ARG" | "LABEL" | "EXPOSE":
                    continue
                case "FROM":
                    self._begin_stage(arguments)
                case "WORKDIR":
                    self._working_directory = Path(self._in_root(arguments))
                    self._working_directory.mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self._copy(arguments.split())
                case "RUN":
                    self._run(arguments)
                case "ENV" if arguments.startswith("PATH=") and arguments.endswith(":${PATH}"):
                    added = arguments.removeprefix("PATH=").removesuffix(":${PATH}")
                    self.search_path.insert(0, Path(self._in_root(added)))
                case "USER":
                    self.user = arguments
                case "ENTRYPOINT":
                    self.entrypoint = msgspec.json.decode(arguments, type=list[str])
                case _:
                    raise ValueError(f"no idea how to carry out {name} {arguments}")

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in the stage."""
        # A virtual environment that is active around the tests has no say.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_"))}
        path = os.pathsep.join([*map(str, self.search_path), "/usr/bin", "/bin"])
        return subprocess.run(
            ["/usr/bin/env", f"PATH={path}", *command],
            cwd=self._working_directory,
            env=inherited | {"PIP_CACHE_DIR": str(self.cache)},
            capture_output=True,
            text=True,
            check=False,
        )

    def _begin_stage(self, arguments: str) -> None:
        if self.root.exists():
            self.root.rename(self._directory / self._stage)
        self._stage = arguments.partition(" AS ")[2]
        self.search_path, self.user, self.entrypoint = [self.root / "usr/local/bin"], "", []
        self._working_directory = self.root
        python = self.search_path[0] / "python3"
        python.parent.mkdir(parents=True)
        # Not a link, for Python looks for its library beside the program that it is started as.
        python.write_text(f'#!/bin/sh\nexec {Path(sys.executable).resolve()} "$@"\n', encoding="utf-8")
        python.chmod(0o755)

    def _copy(self, words: list[str]) -> None:
        *sources, target = words
        destination = self._working_directory / self._in_root(target)
        if stage := next((word for word in sources if word.startswith("--from=")), None):
            sources.remove(stage)
            origin, ignored = self._directory / stage.removeprefix("--from="), shutil.ignore_patterns()
        else:
            origin, ignored = self._context, shutil.ignore_patterns("__pycache__")
        for source in (origin / source.lstrip("/") for source in sources):
            if source.is_dir():
                shutil.copytree(source, destination, symlinks=True, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copy(source, destination)

    def _run(self, arguments: str) -> None:
        result = self.run(["/bin/sh", "-ec", self._in_root(arguments)])
        if result.returncode != 0:
            raise ValueError(f"RUN {arguments}\n{result.stdout}{result.stderr}")

    def _in_root(self, text: str) -> str:
        """The text with `root` before each absolute path."""
        return re.sub(r"(?<!\S)/(?=\w)", f"{self.root}/", text)
