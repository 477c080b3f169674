"""Small objects with an identity and a version, as bytes and decoded."""

import msgspec

from scheduler.api.meta import ApiStruct, ObjectMeta
from scheduler.client.watch_decoding import Key


class Thing(ApiStruct, frozen=True):
    """The least that the client takes for an object."""

    metadata: ObjectMeta


_decoder = msgspec.json.Decoder(Thing)


def decode_thing(body: bytes | memoryview) -> Thing:
    """The decoder that informers of things are given."""
    return _decoder.decode(body)


def thing(name: str, version: str = "1", uid: str = "", namespace: str = "ns") -> Thing:
    """A thing; its UID is made of its name unless one is given."""
    return Thing(ObjectMeta(name=name, namespace=namespace, uid=uid or f"uid-{name}", resource_version=version))


def key(name: str) -> Key:
    """The key of `thing(name)`."""
    return ("ns", name)


def line(kind: str, found: object) -> bytes:
    """A watch line as the API server writes it."""
    return b'{"type":"%b","object":%b}' % (kind.encode(), msgspec.json.encode(found))


def bookmark(version: str) -> bytes:
    """A watch line that tells nothing but a version."""
    return line("BOOKMARK", {"kind": "Thing", "metadata": {"resourceVersion": version}})


def error_line(code: int, message: str = "no") -> bytes:
    """A watch line that ends the watch."""
    return line("ERROR", {"kind": "Status", "code": code, "reason": "Because", "message": message})


def page(things: list[Thing], version: str = "1", follows: str | None = None, extra: tuple[bytes, ...] = ()) -> bytes:
    """A list's page with these things, and raw items after them."""
    items = [msgspec.Raw(msgspec.json.encode(item)) for item in things] + [msgspec.Raw(item) for item in extra]
    metadata = {"resourceVersion": version} | ({"continue": follows} if follows else {})
    return msgspec.json.encode({"kind": "ThingList", "metadata": metadata, "items": items})
