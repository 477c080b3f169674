"""What the health endpoints say. That they say it over HTTP is covered by an integration test."""

from functools import partial

import pytest

from scheduler.server import Endpoint, HealthChecks


def always(problem: str | None) -> str | None:
    """A check that always finds the same."""
    return problem


def checks(**problems: str | None) -> HealthChecks:
    """Checks with these names and problems, the ones that start with `ready` only at readyz."""
    health = HealthChecks()
    for name, problem in problems.items():
        endpoints = {Endpoint.READYZ} if name.startswith("ready") else set(Endpoint)
        health.add(name, partial(always, problem), endpoints)
    return health


def answer(health: HealthChecks, endpoint: Endpoint, *excluded: str, verbose: bool = False) -> tuple[int, list[str]]:
    """The status and the lines."""
    status, text = health.answer(endpoint, verbose=verbose, excluded=excluded)
    return status, text.splitlines()


def test_all_well_is_ok() -> None:
    """With no problem the answer is 200 and two letters."""
    assert checks(loop=None).answer(Endpoint.HEALTHZ, verbose=False, excluded=()) == (200, "ok")


def test_verbose_lists_the_checks_of_the_endpoint() -> None:
    """Each check of this endpoint has a line; those of other endpoints have none."""
    health = checks(loop=None, ready=None)
    assert answer(health, Endpoint.LIVEZ, verbose=True) == (200, ["[+]ping ok", "[+]loop ok", "livez check passed"])
    assert answer(health, Endpoint.READYZ, verbose=True)[1] == [
        "[+]ping ok",
        "[+]loop ok",
        "[+]ready ok",
        "readyz check passed",
    ]


def test_a_failure_is_told_with_its_reason() -> None:
    """One failing check makes 500, and all are listed without being asked."""
    health = checks(loop="stuck for 20s", ready=None)
    assert answer(health, Endpoint.HEALTHZ) == (
        500,
        ["[+]ping ok", "[-]loop failed: stuck for 20s", "healthz check failed"],
    )


def test_a_problem_of_readiness_does_not_kill() -> None:
    """A check that belongs to readyz alone does not fail livez."""
    health = checks(ready="pods are not listed")
    assert answer(health, Endpoint.READYZ)[0] == 500
    assert answer(health, Endpoint.LIVEZ)[0] == 200


def test_excluded_checks_are_not_asked() -> None:
    """An excluded check cannot fail the answer; an unknown name among the excluded is told."""
    health = checks(loop="stuck")
    status, lines = answer(health, Endpoint.LIVEZ, "loop", "lop", verbose=True)
    assert status == 200
    assert lines[1] == "[+]loop excluded: ok"
    assert lines[2] == 'warn: some health checks cannot be excluded: no matches for "lop"'


@pytest.mark.parametrize(
    ("endpoint", "name", "status", "text"),
    [
        (Endpoint.LIVEZ, "ping", 200, "ok"),
        (Endpoint.LIVEZ, "loop", 500, "loop failed: stuck\n"),
        (Endpoint.READYZ, "ready", 200, "ok"),
        (Endpoint.LIVEZ, "ready", 404, "livez has no check ready\n"),
        (Endpoint.LIVEZ, "nothing", 404, "livez has no check nothing\n"),
    ],
)
def test_one_check_alone(endpoint: Endpoint, name: str, status: int, text: str) -> None:
    """A single check answers for itself, where the endpoint has it."""
    assert checks(loop="stuck", ready=None).answer_one(endpoint, name) == (status, text)


def test_a_name_is_taken_once() -> None:
    """Two checks of one name would hide each other."""
    health = checks(loop=None)
    with pytest.raises(ValueError, match="'loop'"):
        health.add("loop", lambda: None)
