"""The composition root: builds every object of a running scheduler, starts them in order and stops them again.

Start: logging -> credentials -> rights -> HTTP server -> informers -> wait for sync -> scheduling loop.
Stop (SIGTERM, SIGINT): no more pods are taken -> binding cycles under way end -> calls under way end -> exit 0.
A fault that leaves the process deaf or headless (an informer that can't go on, the loop itself) ends it with exit 1.
"""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import structlog

from scheduler.api.decoding import DECODERS, decode_node, decode_pod
from scheduler.assembly import Assembly, assemble
from scheduler.client.access_review import SCHEDULER_RIGHTS, missing_rights
from scheduler.client.api_dispatcher import ApiDispatcher
from scheduler.client.credentials import CredentialsError, load_credentials
from scheduler.client.errors import RequestError, Unauthorized
from scheduler.client.event_recorder import EventRecorder
from scheduler.client.informer import Added, Deleted, Informer, InformerError, Updated
from scheduler.client.transport import Transport, TransportSettings, open_transport
from scheduler.client.watched import NODES, OBJECTS, PODS
from scheduler.config.run_options import RunOptions
from scheduler.config.view import configuration_view
from scheduler.core.cache.cluster_objects import ApiObject, ClusterObjects
from scheduler.core.framework.interface import Handle, VolumeWriter
from scheduler.debugger import Debugger
from scheduler.event_handlers import EventHandlers
from scheduler.heartbeat import LoopHeartbeat
from scheduler.pod_writer import PodWriter
from scheduler.schedule_one import Profiles
from scheduler.scheduler import Scheduler
from scheduler.server import Endpoint, HealthChecks, ServerError, start_server
from scheduler.telemetry.gauges import SchedulerGauges
from scheduler.telemetry.metrics import Metrics
from scheduler.volume_writer import ApiVolumeWriter

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

STOP_SECONDS: Final = 20.0
"""How long binding cycles and calls under way may take after a signal to stop."""

_SILENT_SECONDS: Final = 300.0
"""A watch brings a bookmark about once a minute and is opened again after 150 silent seconds."""


class StartError(Exception):
    """The scheduler can't start: one line that names the cause and the way out."""


def run(options: RunOptions) -> int:
    """Run a scheduler until it is told to stop; the exit code of the process. Called by `podium run`."""
    for note in options.loaded.notes:
        log.info(note)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(options))
    except (CredentialsError, StartError, ServerError, InformerError) as error:
        sys.stderr.write(f"podium: {error}\n")
        return 1


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(options: RunOptions) -> int:
    metrics = Metrics()
    transport = await _connect(options, metrics)
    try:
        return await _run_scheduler(options, metrics, transport)
    finally:
        await transport.close()


async def _connect(options: RunOptions, metrics: Metrics) -> Transport:
    """A transport to an API server that answers and gives us what we need."""
    connection = options.loaded.configuration.client_connection
    credentials = await load_credentials(options.kubeconfig)
    settings = TransportSettings(qps=connection.calls_per_second(), burst=connection.burst or 1)
    transport = open_transport(credentials, options.identity, settings, metrics.requests)
    try:
        missing = await missing_rights(transport, SCHEDULER_RIGHTS)
    except Unauthorized as error:
        await transport.close()
        raise StartError(
            f"the API server {credentials.server} refuses the credential: {error}; give it one that it accepts"
        ) from error
    except RequestError as error:
        await transport.close()
        raise StartError(
            f"the API server {credentials.server} does not answer: {error}; is it up, and is it the one you mean?"
        ) from error
    if missing:
        await transport.close()
        rights = ", ".join(str(right) for right in missing)
        raise StartError(f"rights are missing at {credentials.server}: {rights}; bind a ClusterRole that has them")
    return transport


async def _run_scheduler(options: RunOptions, metrics: Metrics, transport: Transport) -> int:
    dispatcher = ApiDispatcher(metrics)
    recorders = {name: EventRecorder(transport, dispatcher, name, options.identity) for name in options.loaded.plugins}
    scheduler = Scheduler(time.monotonic)
    writer = PodWriter(transport, dispatcher, recorders)
    core = _assemble(
        options, writer, partial(ApiVolumeWriter, transport, dispatcher, waiting=scheduler.waiting), metrics, scheduler
    )
    fatal: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    informers = _informers(transport, core.handlers, metrics, fatal)
    heartbeat = LoopHeartbeat(time.monotonic, metrics)
    server = start_server(
        options.bind_address,
        options.metrics_port,
        metrics,
        health_checks(heartbeat, informers),
        lambda: _configz(options, core.profiles),
    )
    background = [asyncio.ensure_future(recorder.run()) for recorder in recorders.values()]
    background.append(asyncio.ensure_future(heartbeat.run()))
    for task in background:
        task.add_done_callback(lambda ended: _pass_on_fault(ended, fatal))
    try:
        debugger = Debugger(core.cluster.cache, core.cluster.nominator, core.queue, transport, PODS, NODES)
        return await _schedule_until_told(core, scheduler, informers, dispatcher, debugger, fatal)
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, *(informer.stop() for informer in informers), return_exceptions=True)
        server.stop()


def _pass_on_fault(ended: asyncio.Future[Any], fatal: asyncio.Future[None]) -> None:
    """What runs beside the scheduler must not end unnoticed."""
    if not ended.cancelled() and (fault := ended.exception()) is not None and not fatal.done():
        fatal.set_exception(fault)


def _assemble(
    options: RunOptions,
    writer: PodWriter,
    volume_writer: Callable[[ClusterObjects], VolumeWriter],
    metrics: Metrics,
    scheduler: Scheduler,
) -> Assembly:
    core = assemble(
        options.loaded,
        handle=lambda cluster: Handle(cluster, writer, volume_writer(cluster.objects)),
        reporter=writer,
        preemption=writer,
        metrics=metrics,
        rng=random.Random(),  # noqa: S311 - ties, not secrets
        spawn=scheduler.spawn,
        on_active=scheduler.wake,
        clock=time.monotonic,
    )

    def gauges() -> SchedulerGauges:
        counts = {**core.queue.pending_counts(), **core.cluster.cache.sizes()}
        return SchedulerGauges(
            **counts,
            inflight_events=core.queue.in_flight_counts(),
            unschedulable_pods=core.queue.rejection_counts(),
            binding=core.schedule_one.binding,
            plugin_evaluations=core.profiles.plugin_evaluations(),
        )

    metrics.watch_gauges(gauges)
    return core


def _informers(
    transport: Transport, handlers: EventHandlers, metrics: Metrics, fatal: asyncio.Future[None]
) -> list[Informer[Any]]:
    """Pods last: one should not be tried on half a cluster."""

    def on_fatal(error: InformerError) -> None:
        if not fatal.done():
            fatal.set_exception(error)

    nodes = Informer(transport, NODES, decode_node, on_fatal=on_fatal, recorder=metrics)
    nodes.add_handler(_telling(handlers.node_added, handlers.node_updated, handlers.node_deleted))
    informers: list[Informer[Any]] = [nodes]
    on_object = _telling(handlers.object_added, handlers.object_updated, handlers.object_deleted)
    for resource in OBJECTS:
        objects = Informer(transport, resource, DECODERS[resource.kind], on_fatal=on_fatal, recorder=metrics)
        objects.add_handler(on_object)
        informers.append(objects)
    pods = Informer(transport, PODS, decode_pod, on_fatal=on_fatal, recorder=metrics)
    pods.add_handler(_telling(handlers.pod_added, handlers.pod_updated, handlers.pod_deleted))
    return [*informers, pods]


def _telling(
    added: Callable[[T], None], updated: Callable[[T, T], None], deleted: Callable[[T], None]
) -> Callable[[Added[T] | Updated[T] | Deleted[T]], None]:
    """An informer's handler that passes each event on to who takes its sort."""

    def handle(event: Added[T] | Updated[T] | Deleted[T]) -> None:
        if isinstance(event, Updated):
            updated(event.old, event.new)
        elif isinstance(event, Added):
            added(event.obj)
        else:
            deleted(event.obj)

    return handle


async def _schedule_until_told(
    core: Assembly,
    scheduler: Scheduler,
    informers: Sequence[Informer[Any]],
    dispatcher: ApiDispatcher,
    debugger: Debugger,
    fatal: asyncio.Future[None],
) -> int:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    dumps: set[asyncio.Future[None]] = set()

    def dump() -> None:
        dumping = asyncio.ensure_future(debugger.dump())
        dumps.add(dumping)  # the loop itself keeps no task alive
        dumping.add_done_callback(dumps.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    loop.add_signal_handler(signal.SIGUSR2, dump)
    for informer in informers:
        informer.start()
    synced = asyncio.ensure_future(_synced(informers))
    stop = asyncio.ensure_future(told.wait())
    await asyncio.wait((synced, stop, fatal), return_when=asyncio.FIRST_COMPLETED)
    scheduling = asyncio.ensure_future(scheduler.run(core.queue, core.schedule_one)) if synced.done() else stop
    await asyncio.wait((scheduling, stop, fatal), return_when=asyncio.FIRST_COMPLETED)
    synced.cancel()
    if fatal.done():
        fatal.result()
    if scheduling is not stop and scheduling.done():
        scheduling.result()
    log.info("stopping", deadline_seconds=STOP_SECONDS)
    given_up = await scheduler.stop(STOP_SECONDS) + await dispatcher.drain(STOP_SECONDS)
    log.info("stopped", given_up=given_up)
    return 0


async def _synced(informers: Sequence[Informer[Any]]) -> None:
    await asyncio.gather(*(informer.wait_for_sync() for informer in informers))
    # What was read now lives long: the collector need not look at it again.
    gc.collect()
    gc.freeze()


def health_checks(
    heartbeat: LoopHeartbeat, informers: Sequence[Informer[Any]], clock: Callable[[], float] = time.monotonic
) -> HealthChecks:
    """What the health endpoints ask: whether the loop turns and, for readiness, whether the cluster is being heard."""
    checks = HealthChecks()
    checks.add("scheduling-loop", heartbeat.problem)

    def out_of_sync() -> str | None:
        missing = [informer.resource.kind for informer in informers if not informer.has_synced]
        if missing:
            return f"not synced yet: {', '.join(missing)}"
        silent_since = clock() - _SILENT_SECONDS
        silent = [informer.resource.kind for informer in informers if informer.last_activity_seconds < silent_since]
        return f"nothing heard for {_SILENT_SECONDS:g} s of: {', '.join(silent)}" if silent else None

    checks.add("informer-sync", out_of_sync, {Endpoint.READYZ})
    return checks


def _configz(options: RunOptions, profiles: Profiles) -> dict[str, object]:
    active = {
        name: {
            "predicates": profiles.algorithm(name).predicates(),
            "prioritizers": profiles.algorithm(name).prioritizers(),
        }
        for name in profiles.names()
    }
    return {"componentconfig": configuration_view(options.loaded.configuration), "podium": active}
