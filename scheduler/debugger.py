"""SIGUSR2: what cache and queue hold, and where the cache differs from a fresh list. For people with a riddle."""

from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar

import msgspec
import structlog

from scheduler.api.decoding import decode_node, decode_pod
from scheduler.client.errors import RequestError
from scheduler.client.pages import pages
from scheduler.client.transport import Transport
from scheduler.client.watch_decoding import Resource
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.nominator import Nominator
from scheduler.core.queue.scheduling_queue import SchedulingQueue

log = structlog.get_logger(__name__)

T = TypeVar("T")

_PAGE_SIZE: Final = 500


class Debugger:
    """Writes the state of the scheduler to the log. One per process, called on the scheduling loop."""

    def __init__(
        self,
        cache: Cache,
        nominator: Nominator,
        queue: SchedulingQueue,
        transport: Transport,
        pods: Resource,
        nodes: Resource,
    ) -> None:
        self._cache = cache
        self._nominator = nominator
        self._queue = queue
        self._transport = transport
        self._pods = pods
        self._nodes = nodes

    async def dump(self) -> None:
        """Log every node with its pods, every waiting pod with its place, and all differences from a fresh list.

        Differences that were on their way through the watch while the list was read are reported too: ask twice.
        """
        for info in self._cache.node_infos():
            log.info(
                "cached node",
                node=info.name,
                exists=info.node is not None,
                allocatable=info.allocatable,
                requested=info.requested,
                pods=[pod.key for pod in info.pods.values()],
                nominated=[pod.key for pod in self._nominator.on_node(info.name)],
            )
        for place, waiting in self._queue.snapshot().items():
            log.info("queued pods", place=place.value, pods=[queued.pod_info.key for queued in waiting])
        try:
            differences = [difference async for difference in self._differences()]
        except RequestError as error:
            log.warning("the cache can't be compared, the API server gives no list", error=str(error))
            return
        log.info("cache compared with a fresh list", differences=differences)

    async def _differences(self) -> AsyncIterator[str]:
        listed_nodes = {node.metadata.name async for node in self._list(self._nodes, decode_node)}
        cached_nodes = {info.name for info in self._cache.node_infos() if info.node is not None}
        for name in sorted(listed_nodes ^ cached_nodes):
            yield f"node {name} is {'missing in the cache' if name in listed_nodes else 'only in the cache'}"
        listed = {pod.metadata.uid: pod async for pod in self._list(self._pods, decode_pod) if pod.spec.node_name}
        cached = {uid: (pod, info.name) for info in self._cache.node_infos() for uid, pod in info.pods.items()}
        for uid, found in listed.items():
            if uid not in cached:
                yield f"pod {found.metadata.namespace}/{found.metadata.name} is missing in the cache"
            elif cached[uid][1] != found.spec.node_name:
                yield f"pod {cached[uid][0].key} is cached on {cached[uid][1]} but runs on {found.spec.node_name}"
        for uid, (pod, node_name) in cached.items():
            if uid not in listed:
                assumed = " (assumed)" if self._cache.is_assumed(uid) else ""
                yield f"pod {pod.key} on {node_name} is only in the cache{assumed}"

    async def _list(self, resource: Resource, decode: Callable[[bytes], T]) -> AsyncIterator[T]:
        async for page in pages(self._transport, resource.path, _PAGE_SIZE, resource.parameters):
            for item in page.items or ():
                try:
                    found = decode(bytes(item))
                except msgspec.MsgspecError as error:
                    log.warning("left out of the comparison, it cannot be read", kind=resource.kind, error=str(error))
                else:
                    yield found
