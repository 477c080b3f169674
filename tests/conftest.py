"""Fixtures that give tests a real control plane, and its logs in the report of a test that fails."""

import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.controlplane.build import CONTROL_PLANE_MODULES, BuildError, binary, build_all
from tests.controlplane.clean_state import CleanState
from tests.controlplane.client import Client
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.fault_proxy import FaultProxy

# How long an example takes says how busy the machine is.
settings.register_profile("no wall time", deadline=None)
settings.load_profile("no wall time")

_MODULES = {
    "control_plane": CONTROL_PLANE_MODULES,
    "fresh_control_plane": CONTROL_PLANE_MODULES,
    "helm": ("helm",),
    "oracle": ("oracle",),
}
"""What must be built for a test that takes one of these fixtures."""
_running: list[ControlPlane] = []


@dataclass(frozen=True)
class Cluster:
    """What one test may use: a control plane with nothing in it, and a namespace of its own."""

    control_plane: ControlPlane
    client: Client
    """Acts as administrator."""
    namespace: str


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """The control plane that all tests of the run share. Tests take `cluster`, which keeps it clean."""
    with ControlPlane() as shared:
        _running.append(shared)
        yield shared
        _running.remove(shared)


@pytest.fixture(scope="session")
def clean_state(control_plane: ControlPlane) -> CleanState:
    """The objects that the shared control plane has before the first test."""
    return CleanState(control_plane)


@pytest.fixture
def cluster(control_plane: ControlPlane, clean_state: CleanState) -> Iterator[Cluster]:
    """The shared control plane; all that the test starts or creates in it is gone after the test."""
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    with control_plane.client() as client:
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        yield Cluster(control_plane, client, namespace)
    clean_state.restore()


@pytest.fixture
def fault_proxy(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    """A fault proxy before the shared control plane, without rules."""
    with FaultProxy(control_plane) as proxy:
        yield proxy


@pytest.fixture
def fresh_control_plane() -> Iterator[Callable[..., ControlPlane]]:
    """Start control planes of the test's own, for those it kills or pauses; takes the arguments of ControlPlane."""
    with ExitStack() as stack:

        def start(**arguments: Any) -> ControlPlane:
            started = stack.enter_context(ControlPlane(**arguments))
            _running.append(started)
            stack.callback(_running.remove, started)
            return started

        yield start


@pytest.fixture(scope="session")
def helm() -> Path:
    """The real Helm; taken by tests that run it, so that it is built before the first test."""
    return binary("helm")


@pytest.fixture(scope="session")
def oracle() -> Path:
    """The program that answers as kube-scheduler's framework does; built before the first test."""
    return binary("oracle")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--soak`."""
    parser.addoption("--soak", action="store_true", help="also run the long versions of tests, marked `soak`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need a control plane, and leave out long versions that nobody asked for."""
    for item in items:
        if _modules_for(item):
            item.add_marker("network")
    if not config.getoption("soak"):
        long_versions = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=long_versions)
        items[:] = [item for item in items if item not in long_versions]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build what the tests need before the first one, whose time limit a build would exceed."""
    if session.config.option.collectonly:
        return
    try:
        build_all(sorted(set().union(*map(_modules_for, session.items))))
    except BuildError as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.INTERNAL_ERROR)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the components' logs to the report of a test that failed."""
    report = yield
    if report.failed and _modules_for(item):
        for running in _running:
            report.sections += [(f"log of {name}", text) for name, text in running.log_tails().items()]
    return report


def _modules_for(item: pytest.Item) -> set[str]:
    """The modules that must be built for a test."""
    return {module for fixture in getattr(item, "fixturenames", ()) for module in _MODULES.get(fixture, ())}
