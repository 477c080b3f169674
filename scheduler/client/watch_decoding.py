"""Objects out of lists and watch lines, one by one, so that one bad object spoils nothing else; no I/O."""

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec
import structlog

from scheduler.client.errors import AnswerLost, RequestError, api_error

log = structlog.get_logger(__name__)

_ENVELOPE_START = b'{"type":"'
_ENVELOPE_MIDDLE = b'","object":'
_LONGEST_MIDDLE_END = len(_ENVELOPE_START) + len(b"MODIFIED") + len(_ENVELOPE_MIDDLE)


class Metadata(Protocol):
    """What the client reads of any object's metadata; `namespace` is "" where there is none."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def namespace(self) -> str: ...  # noqa: D102
    @property
    def uid(self) -> str: ...  # noqa: D102
    @property
    def resource_version(self) -> str: ...  # noqa: D102


class ApiObject(Protocol):
    """Any typed object of the API."""

    @property
    def metadata(self) -> Metadata: ...  # noqa: D102


T = TypeVar("T", bound=ApiObject)

Key = tuple[str, str]
"""Namespace ("" for kinds without) and name."""

Decode = Callable[[bytes | memoryview], T]
"""Reads one object; raises msgspec.MsgspecError on a bad one."""


class Resource(NamedTuple):
    """What to list and watch: `path` of the collection, `parameters` such as a fieldSelector, `kind` for people."""

    kind: str
    path: str
    parameters: Mapping[str, str]

    @property
    def api_name(self) -> tuple[str, str]:
        """API group ("" for the core API) and name, as rights call it."""
        *before, _, name = self.path.split("/")
        return ("" if before[1] == "api" else before[2], name)


class WatchEvent(NamedTuple, Generic[T]):
    """The object with this key is now like this; None means that it is gone."""

    key: Key
    object: T | None


class Decoded(NamedTuple, Generic[T]):
    """What the items of a list or some lines of a watch say.

    `unreadable` are the keys of objects that exist but could not be read. `resource_version` is the last one seen (""
    if none), also of bookmarks and of unreadable objects. `fault` is what the stream broke with after all that: the
    ApiError of an ERROR event, or AnswerLost for a line that is no whole JSON document.
    """

    events: list[WatchEvent[T]]
    unreadable: list[Key]
    resource_version: str = ""
    fault: RequestError | None = None


class WatchRecorder(Protocol):
    """Where the faults of a watch are counted."""

    def malformed(self, kind: str) -> None:
        """An object could not be read and was left out."""
        ...

    def handler_failed(self, kind: str) -> None:
        """A handler of the kind's events raised."""
        ...


class NoWatchRecorder:
    """Counts nothing; for tools that serve no metrics."""

    def malformed(self, kind: str) -> None:
        """Does nothing."""

    def handler_failed(self, kind: str) -> None:
        """Does nothing."""


class _Envelope(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _LenientMetadata(msgspec.Struct, rename="camel"):
    name: str | None = None
    namespace: str | None = None
    resource_version: str | None = None


class _Lenient(msgspec.Struct):
    metadata: _LenientMetadata | None = None


class _PageMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class Page(msgspec.Struct):
    """One page of a list, its items still bytes."""

    metadata: _PageMetadata
    items: list[msgspec.Raw] | None = None


_envelope_decoder = msgspec.json.Decoder(_Envelope)
_lenient_decoder = msgspec.json.Decoder(_Lenient)
_page_decoder = msgspec.json.Decoder(Page)


def decode_page(body: bytes) -> Page:
    """Splits a list into its items; raises AnswerLost for what is no whole list with a resourceVersion."""
    try:
        page = _page_decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise AnswerLost(f"a list of {len(body)} bytes cannot be read: {error}") from error
    if not page.metadata.resource_version:
        raise AnswerLost("a list came without a resourceVersion")
    return page


class ObjectDecoder(Generic[T]):
    """Decodes what lists and watches of one resource bring; objects that cannot be read are logged and counted."""

    def __init__(self, kind: str, decode: Decode[T], recorder: WatchRecorder) -> None:
        self._kind = kind
        self._decode = decode
        self._recorder = recorder

    def decode_items(self, items: list[msgspec.Raw]) -> Decoded[T]:
        """Items of a list."""
        events: list[WatchEvent[T]] = []
        unreadable: list[Key] = []
        for item in items:
            raw = memoryview(item)
            try:
                self._add(self._decode(raw), events)
            except msgspec.MsgspecError as error:
                self._note_unreadable(_lenient_metadata(raw), error, unreadable)
        return Decoded(events, unreadable)

    def decode_lines(self, lines: list[bytes]) -> Decoded[T]:
        """Lines of a watch, in order, up to the first that breaks it."""
        events: list[WatchEvent[T]] = []
        unreadable: list[Key] = []
        resource_version = ""
        fault: RequestError | None = None
        for line in lines:
            kind, raw = _cut_envelope(line)
            if kind == b"ADDED" or kind == b"MODIFIED":
                try:
                    resource_version = self._add(self._decode(raw), events)
                    continue
                except msgspec.MsgspecError:
                    pass  # decoded again below, the long way, which tells what is wrong
            try:
                envelope = _envelope_decoder.decode(line)
            except msgspec.MsgspecError as error:
                fault = AnswerLost(f"a watch line of {len(line)} bytes cannot be read: {error}")
                break
            if envelope.type == "ERROR":
                fault = api_error(None, memoryview(envelope.object))
                break
            resource_version = self._take_seldom(envelope, events, unreadable) or resource_version
        return Decoded(events, unreadable, resource_version, fault)

    def _take_seldom(self, envelope: _Envelope, events: list[WatchEvent[T]], unreadable: list[Key]) -> str:
        """Bookmarks, deletions, and objects of which the short way could make nothing; returns the resourceVersion."""
        raw = memoryview(envelope.object)
        seen = _lenient_metadata(raw)
        if envelope.type in ("ADDED", "MODIFIED"):
            try:
                self._add(self._decode(raw), events)
            except msgspec.MsgspecError as error:
                self._note_unreadable(seen, error, unreadable)
        elif envelope.type == "DELETED" and seen.name:
            events.append(WatchEvent((seen.namespace or "", seen.name), None))
        elif envelope.type != "BOOKMARK":
            self._note_unreadable(seen, f"{envelope.type} event that names no object", unreadable)
        return seen.resource_version or ""

    def _add(self, found: T, events: list[WatchEvent[T]]) -> str:
        metadata = found.metadata
        events.append(WatchEvent((metadata.namespace, metadata.name), found))
        return metadata.resource_version

    def _note_unreadable(self, seen: _LenientMetadata, error: object, unreadable: list[Key]) -> None:
        if seen.name:
            unreadable.append((seen.namespace or "", seen.name))
        log.warning(
            "Left out an object that cannot be read",
            kind=self._kind,
            namespace=seen.namespace,
            name=seen.name,
            error=str(error),
        )
        self._recorder.malformed(self._kind)


def _cut_envelope(line: bytes) -> tuple[bytes, memoryview]:
    """Type and object of a watch line, without decoding its envelope, which would cost as much again as the object.

    The API server writes `{"type":"…","object":…}`, without spaces and with nothing after it. Of a line of another
    shape the type is empty or the object no JSON.
    """
    middle = line.find(_ENVELOPE_MIDDLE, len(_ENVELOPE_START), _LONGEST_MIDDLE_END)
    return line[len(_ENVELOPE_START) : max(middle, 0)], memoryview(line)[middle + len(_ENVELOPE_MIDDLE) : -1]


def _lenient_metadata(raw: memoryview) -> _LenientMetadata:
    try:
        return _lenient_decoder.decode(raw).metadata or _LenientMetadata()
    except msgspec.MsgspecError:
        return _LenientMetadata()
