"""Fixtures that give tests a running Podium, and its log in the report of a test that fails."""

from collections.abc import Generator, Iterator

import pytest

from tests.integration.podium import Podiums

_at_work: list[Podiums] = []


@pytest.fixture
def podium(request: pytest.FixtureRequest) -> Iterator[Podiums]:
    """Starts schedulers; after the test they are ended, and their logs must hold no fault but those expected."""
    # Control planes and proxies that the test uses must outlive the schedulers.
    for outliving in {"cluster", "fault_proxy", "fresh_control_plane"} & set(request.fixturenames):
        request.getfixturevalue(outliving)
    podiums = Podiums()
    _at_work.append(podiums)
    yield podiums
    _at_work.remove(podiums)
    podiums.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the schedulers' logs to the report of a test that failed."""
    report = yield
    if report.failed:
        for podiums in _at_work:
            report.sections += [(f"log of {name}", text) for name, text in podiums.logs().items()]
    return report
