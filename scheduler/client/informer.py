"""A local copy of a collection, and typed events for whoever follows it."""

import asyncio
import random as random_module
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Generic, TypeVar

import msgspec
import structlog

from scheduler.client.errors import Forbidden, RequestError, Unauthorized
from scheduler.client.reflector import Reflector, ReflectorSettings
from scheduler.client.transport import Transport
from scheduler.client.watch_decoding import (
    ApiObject,
    Decode,
    Key,
    NoWatchRecorder,
    Resource,
    WatchEvent,
    WatchRecorder,
)

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

_COUNTS_NOTHING = NoWatchRecorder()
_DEFAULT_SETTINGS = ReflectorSettings()


class Added(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object that was not there before."""

    obj: T


class Updated(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """The same object (by UID) in another version; `old` is the very object the handlers were given before."""

    old: T
    new: T


class Deleted(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """The object is gone; `obj` is the very object the handlers were given last."""

    obj: T


Handler = Callable[[Added[T] | Updated[T] | Deleted[T]], None]
"""Called on the loop for each event, in order; must be quick. What it raises is logged and counted."""


class InformerError(Exception):
    """A collection cannot be followed; the process has to end."""


class Informer(Generic[T]):
    """Follows one resource: a store of its objects by namespace and name, and handlers that are told of each change.

    The store changes before the handlers are called. Of each object they see Added, any number of Updated, Deleted, in
    turn; an object that was re-created under its name is Deleted and Added. After a cut that lost events they see the
    net change only.

    The watch retries for ever what waiting can mend. Anything else, a bug included, is handed to `on_fatal`, once:
    an informer never falls silent.
    """

    def __init__(
        self,
        transport: Transport,
        resource: Resource,
        decode: Decode[T],
        *,
        on_fatal: Callable[[InformerError], None],
        recorder: WatchRecorder = _COUNTS_NOTHING,
        settings: ReflectorSettings = _DEFAULT_SETTINGS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self.resource = resource
        self._on_fatal = on_fatal
        self._recorder = recorder
        self._handlers: list[Handler[T]] = []
        self._store: dict[Key, T] = {}
        self._synced = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._reflector = Reflector(
            transport, resource, decode, self, recorder, settings, clock=clock, sleep=sleep, random=random
        )

    def add_handler(self, handler: Handler[T]) -> None:
        """Registers a handler; only before `start`, so that each sees everything."""
        if self._task is not None:
            raise RuntimeError(f"informer of {self.resource.kind}: handlers are added before it starts")
        self._handlers.append(handler)

    def start(self) -> None:
        """Begins to list and watch, on the running loop."""
        self._task = asyncio.create_task(self._run(), name=f"informer {self.resource.kind}")

    async def stop(self) -> None:
        """Ends the watch; the store stays as it is."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    @property
    def has_synced(self) -> bool:
        """Whether the handlers have seen everything that was there at the start."""
        return self._synced.is_set()

    async def wait_for_sync(self) -> None:
        """Returns as soon as `has_synced`."""
        await self._synced.wait()

    @property
    def last_activity_seconds(self) -> float:
        """When the server was last heard of, by the clock that was passed in; for readiness."""
        return self._reflector.last_activity_seconds

    def get(self, namespace: str, name: str) -> T | None:
        """The object as it was last seen; `namespace` is "" for kinds without."""
        return self._store.get((namespace, name))

    def list(self) -> Collection[T]:
        """All objects, as a live view: copy it before waiting for anything."""
        return self._store.values()

    def apply(self, events: Sequence[WatchEvent[T]]) -> None:
        """Called by the reflector."""
        store = self._store
        for key, new in events:
            old = store.get(key)
            if new is None:
                if old is not None:
                    del store[key]
                    self._tell(Deleted(old))
            elif old is None:
                store[key] = new
                self._tell(Added(new))
            elif old.metadata.uid != new.metadata.uid:
                del store[key]
                self._tell(Deleted(old))
                store[key] = new
                self._tell(Added(new))
            elif old.metadata.resource_version != new.metadata.resource_version:
                store[key] = new
                self._tell(Updated(old, new))

    def known_keys(self) -> Collection[Key]:
        """Called by the reflector."""
        return self._store.keys()

    def list_complete(self) -> None:
        """Called by the reflector."""
        if not self._synced.is_set():
            log.info("Informer has synced", kind=self.resource.kind, objects=len(self._store))
            self._synced.set()

    def _tell(self, event: Added[T] | Updated[T] | Deleted[T]) -> None:
        for handler in self._handlers:
            try:
                handler(event)
            except Exception:
                log.exception("Event handler failed", kind=self.resource.kind, change=type(event).__name__)
                self._recorder.handler_failed(self.resource.kind)

    async def _run(self) -> None:
        try:
            await self._reflector.run()
        except RequestError as error:
            self._on_fatal(
                InformerError(f"cannot follow {self.resource.kind} at {self.resource.path}: {error}; {_way_out(error)}")
            )
        except Exception as error:
            log.exception("Informer failed", kind=self.resource.kind)
            self._on_fatal(InformerError(f"informer of {self.resource.kind} failed: {type(error).__name__}: {error}"))


def _way_out(error: RequestError) -> str:
    if isinstance(error, Forbidden):
        return "let the scheduler's role get, list and watch it"
    if isinstance(error, Unauthorized):
        return "give it a credential that this server accepts"
    return "this server does not have it"
