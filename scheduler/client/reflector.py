"""Keeps a copy of a collection up to date: lists it, then watches it, for ever.

  ┌─► LISTING ──── complete, vanished objects handed over ────► WATCHING ◄─┐
  │    ▲   │                                                     │  │      │ cut, ended, silent:
  │    └───┘ failed: again from the start, after a wait          │  └──────┘ from the last resourceVersion
  │                                                              │
  └────────────── 410, or a resourceVersion of the future ───────┘

Nowhere is the whole list held: it comes in pages, whose objects are decoded and handed over one small batch at a time,
and only its keys are remembered, to find what has vanished. Pages and not a streaming list (`sendInitialEvents`), which
holds as little but costs the server and us twice the CPU.
"""

from __future__ import annotations

import asyncio
import random as random_module
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, NoReturn, Protocol, TypeVar

import structlog

from scheduler.client.backoff import Backoff
from scheduler.client.errors import (
    AnswerLost,
    ApiError,
    Forbidden,
    Gone,
    NotFound,
    RequestError,
    ServerError,
    Unauthorized,
)
from scheduler.client.transport import Transport
from scheduler.client.watch_decoding import (
    ApiObject,
    Decode,
    Decoded,
    Key,
    ObjectDecoder,
    Resource,
    WatchEvent,
    WatchRecorder,
    decode_page,
)

log = structlog.get_logger(__name__)

# Decoding and handling so many objects keeps a turn of the loop under a millisecond.
_BATCH_EVENTS = 32
_SHORTEST_HEALTHY_WATCH_SECONDS = 1.0

T = TypeVar("T", bound=ApiObject)
Item = TypeVar("Item")


class Sink(Protocol[T]):
    """Where a reflector puts what it sees; all methods are called on the loop and must be quick."""

    def apply(self, events: Sequence[WatchEvent[T]]) -> None:
        """Some changes, in order. After a list, an object may come that is known already, with the same version."""
        ...

    def known_keys(self) -> Collection[Key]:
        """Of the objects that exist as far as the sink knows."""
        ...

    def list_complete(self) -> None:
        """All that exists has been handed over, and what does not exist any more was taken back."""
        ...


@dataclass(frozen=True, slots=True)
class ReflectorSettings:
    """`idle_seconds` is the longest silence of a watch: bookmarks come about once a minute.

    A watch is asked to end by itself after a random time between `shortest_watch_seconds` and twice that, so that the
    watches of many clients move to a new server over time.
    """

    page_size: int = 500
    idle_seconds: float = 150.0
    shortest_watch_seconds: int = 300


class Reflector(Generic[T]):
    """Feeds a sink with the objects of one resource."""

    def __init__(
        self,
        transport: Transport,
        resource: Resource,
        decode: Decode[T],
        sink: Sink[T],
        recorder: WatchRecorder,
        settings: ReflectorSettings = ReflectorSettings(),
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self.last_activity_seconds = clock()
        """When the server was last heard of, by `clock`."""
        self._transport = transport
        self._resource = resource
        self._decoder = ObjectDecoder(resource.kind, decode, recorder)
        self._sink = sink
        self._settings = settings
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._backoff = Backoff(clock=clock, random=random)
        self._resource_version = ""  # of the last thing handed over; "" when a list is needed
        self._has_listed = False

    async def run(self) -> NoReturn:
        """Runs until cancelled. Before the first list is complete, raises what no waiting will mend.

        That is Unauthorized, Forbidden, or NotFound if the server does not have the resource. Later on these are
        waited out like all other failures: a server that starts up gives them for a moment.
        """
        while True:
            try:
                if self._resource_version:
                    await self._watch()
                else:
                    await self._list()
            except Gone as error:
                self._resource_version = ""
                await self._wait(error)
            except (Unauthorized, Forbidden, NotFound) as error:
                if not self._has_listed:
                    raise
                await self._wait(error)
            except RequestError as error:
                if _is_version_of_the_future(error):
                    self._resource_version = ""
                await self._wait(error)

    async def _wait(self, error: RequestError) -> None:
        asked_seconds = error.retry_after_seconds if isinstance(error, ApiError) else None
        seconds = max(asked_seconds or 0.0, self._backoff.next_seconds())
        log.warning(
            "List or watch failed", kind=self._resource.kind, error=str(error), again_in_seconds=round(seconds, 3)
        )
        await self._sleep(seconds)

    async def _list(self) -> None:
        listed: set[Key] = set()
        # Without a resourceVersion: with "0" the server would ignore the limit and send everything at once.
        parameters = {**self._resource.parameters, "limit": str(self._settings.page_size)}
        while True:
            response = await self._transport.get(self._resource.path, parameters)
            self.last_activity_seconds = self._clock()
            page = decode_page(response.body)
            for items in _batches(page.items or []):
                decoded = self._decoder.decode_items(items)
                listed.update(decoded.unreadable, (event.key for event in decoded.events))
                self._sink.apply(decoded.events)
                await asyncio.sleep(0)
            if not page.metadata.continue_:
                await self._complete_list(listed, page.metadata.resource_version)
                return
            parameters["continue"] = page.metadata.continue_

    async def _watch(self) -> None:
        """Returns when the server ends the watch in good order."""
        started = self._clock()
        version = self._resource_version
        parameters = {
            **self._resource.parameters,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(self._settings.shortest_watch_seconds * (1.0 + self._random()))),
            "resourceVersion": version,
        }
        stream = self._transport.stream(self._resource.path, parameters, self._settings.idle_seconds)
        async with aclosing(stream) as groups:
            async for lines in groups:
                self.last_activity_seconds = self._clock()
                for batch in _batches(lines):
                    self._take(self._decoder.decode_lines(batch))
                    if len(batch) == _BATCH_EVENTS:
                        await asyncio.sleep(0)
        if version == self._resource_version and self._clock() - started < _SHORTEST_HEALTHY_WATCH_SECONDS:
            await self._wait(AnswerLost("the server ended a watch at once"))

    def _take(self, decoded: Decoded[T]) -> None:
        if decoded.events:
            self._sink.apply(decoded.events)
        if decoded.resource_version:
            self._resource_version = decoded.resource_version
        if decoded.fault is not None:
            raise decoded.fault

    async def _complete_list(self, listed: set[Key], resource_version: str) -> None:
        """What was not listed does not exist any more; only now does the list's version count."""
        vanished = find_vanished(self._sink.known_keys(), listed)
        for keys in _batches(vanished):
            self._sink.apply([WatchEvent(key, None) for key in keys])
            await asyncio.sleep(0)
        self._resource_version = resource_version
        self._has_listed = True
        self._sink.list_complete()


def find_vanished(known: Iterable[Key], listed: Collection[Key]) -> list[Key]:
    """The known keys that a complete list did not name, in the order in which they are known."""
    return [key for key in known if key not in listed]


def _is_version_of_the_future(error: RequestError) -> bool:
    """The server's store went back behind what was seen, as after the restore of a backup."""
    return isinstance(error, ServerError) and "Too large resource version" in error.message


def _batches(items: list[Item]) -> Iterable[list[Item]]:
    if len(items) <= _BATCH_EVENTS:
        return (items,) if items else ()
    return (items[start : start + _BATCH_EVENTS] for start in range(0, len(items), _BATCH_EVENTS))
