"""When a credential is renewed. Files, plugins and certificates are read in tests/integration/test_credentials.py."""

import threading

from structlog.testing import capture_logs

from scheduler.client.credentials import Credentials, CredentialsError, LoadedCredential
from scheduler.testing.clock import FakeClock
from tests.unit.client.fakes import loaded


class _Source:
    """Gives `Bearer 2`, `Bearer 3`… unless told to fail, and counts how often it is read."""

    def __init__(self, life_seconds: float | None) -> None:
        self.reads = 1
        self.fails = False
        self.threads: list[threading.Thread] = []
        self._life_seconds = life_seconds

    def __call__(self) -> LoadedCredential:
        self.threads.append(threading.current_thread())
        if self.fails:
            raise CredentialsError("plugin is gone")
        self.reads += 1
        return loaded(f"Bearer {self.reads}", self._life_seconds)


class _Bench:
    def __init__(self, life_seconds: float | None = 100.0) -> None:
        self.clock = FakeClock()
        self.source = _Source(life_seconds)
        self.credentials = Credentials(self.source, loaded("Bearer 1", life_seconds), clock=self.clock.now)

    async def renewed(self) -> None:
        if self.credentials._renewal is not None:
            await self.credentials._renewal


async def test_is_renewed_in_a_thread_before_it_ends() -> None:
    """After four fifths of its life a new one is fetched in a thread, and calls go on with the old one meanwhile."""
    bench = _Bench()
    bench.clock.advance(79.0)
    assert bench.credentials.authorization() == "Bearer 1"
    assert bench.source.reads == 1
    bench.clock.advance(2.0)
    assert bench.credentials.authorization() == "Bearer 1"
    await bench.renewed()
    assert bench.credentials.authorization() == "Bearer 2"
    assert threading.main_thread() not in bench.source.threads


async def test_one_renewal_at_a_time() -> None:
    """However many calls ask, the source is read once."""
    bench = _Bench()
    bench.clock.advance(90.0)
    for _ in range(5):
        bench.credentials.authorization()
    await bench.renewed()
    assert bench.source.reads == 2


async def test_credential_without_end_is_left_alone() -> None:
    """What does not end is not read again."""
    bench = _Bench(life_seconds=None)
    bench.clock.advance(1e9)
    assert bench.credentials.authorization() == "Bearer 1"
    assert bench.source.reads == 1


async def test_failed_renewal_keeps_the_old_one_and_tries_again() -> None:
    """A failure is logged, the old credential stays in use, and ten seconds later it is tried again."""
    bench = _Bench()
    bench.source.fails = True
    bench.clock.advance(90.0)
    with capture_logs() as logs:
        bench.credentials.authorization()
        await bench.renewed()
    assert [entry["error"] for entry in logs] == ["plugin is gone"]
    bench.source.fails = False
    bench.clock.advance(9.0)
    assert bench.credentials.authorization() == "Bearer 1"
    await bench.renewed()
    assert bench.source.reads == 1
    bench.clock.advance(2.0)
    bench.credentials.authorization()
    await bench.renewed()
    assert bench.credentials.authorization() == "Bearer 2"


async def test_refusal_renews_and_says_whether_to_try_again() -> None:
    """After a 401 a new credential is worth another try, however long the old one should have lasted."""
    bench = _Bench(life_seconds=None)
    bench.clock.advance(60.0)
    assert await bench.credentials.renew_after_refusal("Bearer 1")
    assert bench.credentials.authorization() == "Bearer 2"


async def test_refusal_of_an_older_credential_needs_no_reading() -> None:
    """A call that went out before a renewal only has to use the new one."""
    bench = _Bench(life_seconds=None)
    bench.clock.advance(60.0)
    await bench.credentials.renew_after_refusal("Bearer 1")
    assert await bench.credentials.renew_after_refusal("Bearer 1")
    assert bench.source.reads == 2


async def test_a_flood_of_refusals_reads_the_source_seldom() -> None:
    """A credential that was just read and is refused is not read again within ten seconds."""
    bench = _Bench(life_seconds=None)
    bench.clock.advance(60.0)
    assert await bench.credentials.renew_after_refusal("Bearer 1")
    assert not await bench.credentials.renew_after_refusal("Bearer 2")
    assert bench.source.reads == 2
    bench.clock.advance(11.0)
    assert await bench.credentials.renew_after_refusal("Bearer 2")


async def test_refusal_while_the_source_fails() -> None:
    """Without a new credential another try is not worth it."""
    bench = _Bench(life_seconds=None)
    bench.source.fails = True
    bench.clock.advance(60.0)
    with capture_logs():
        assert not await bench.credentials.renew_after_refusal("Bearer 1")
    assert bench.credentials.authorization() == "Bearer 1"
