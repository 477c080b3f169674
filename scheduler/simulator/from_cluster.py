"""The objects of a running cluster, read once through its API server; nothing is written there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from scheduler.client.credentials import CredentialsError, load_credentials
from scheduler.client.errors import Forbidden, Gone, NotFound, RequestError
from scheduler.client.pages import pages
from scheduler.client.transport import Transport, TransportSettings, open_transport
from scheduler.simulator.documents import Found
from scheduler.simulator.kinds import READ_KINDS, ReadKind
from scheduler.simulator.places import InputError, Place, Remark

_PAGE_SIZE: Final = 500
_ATTEMPTS: Final = 3
_NEEDED: Final = frozenset({"Node", "Pod"})


@dataclass(slots=True)
class ClusterSnapshot:
    """What the API server had.

    Attributes:
        warnings: kinds that could not be read.
    """

    server: str
    lists: list[tuple[ReadKind, list[msgspec.Raw]]]
    warnings: list[Remark]

    def found(self) -> Iterator[Found]:
        """The objects, decoded as they are asked for."""
        for kind, items in self.lists:
            said_once = {"apiVersion": kind.api_version, "kind": kind.name}
            for index, raw in enumerate(items):
                yield Found(Place(f"{self.server} {kind.name}", item=index), {**msgspec.json.decode(raw), **said_once})


def read_api_server(kubeconfig: str | None) -> ClusterSnapshot:
    """List every kind that is read.

    Args:
        kubeconfig: the file that leads to the API server; None for the usual places.

    Raises:
        InputError: it can't be reached, or does not give nodes and pods.
    """
    return asyncio.run(_read(kubeconfig))


async def _read(kubeconfig: str | None) -> ClusterSnapshot:
    try:
        credentials = await load_credentials(kubeconfig)
    except CredentialsError as error:
        raise InputError.at(Place("--from-cluster"), str(error)) from error
    transport = open_transport(credentials, "simulate", TransportSettings(tries=_ATTEMPTS))
    snapshot = ClusterSnapshot(credentials.server, [], [])
    try:
        for kind in READ_KINDS.values():
            await _add(snapshot, transport, kind)
    finally:
        await transport.close()
    return snapshot


async def _add(snapshot: ClusterSnapshot, transport: Transport, kind: ReadKind) -> None:
    try:
        snapshot.lists.append((kind, await _list(transport, kind)))
    except (Forbidden, NotFound) as error:
        place = Place(snapshot.server)
        if kind.name in _NEEDED:
            raise InputError.at(place, f"{kind.plural} can't be listed: {error}") from error
        snapshot.warnings.append(Remark(place, f"{kind.plural} can't be listed, there are taken to be none: {error}"))
    except RequestError as error:
        raise InputError.at(Place(snapshot.server), f"{kind.plural} can't be listed: {error}") from error


async def _list(transport: Transport, kind: ReadKind) -> list[msgspec.Raw]:
    """All objects of a kind; again from the start where the server has forgotten the list before its last page."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await _items(transport, kind)
        except Gone:
            continue
    return await _items(transport, kind)


async def _items(transport: Transport, kind: ReadKind) -> list[msgspec.Raw]:
    return [item async for page in pages(transport, kind.path, _PAGE_SIZE) for item in page.items or ()]
