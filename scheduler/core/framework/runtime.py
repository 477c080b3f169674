"""A profile at work: its plugins, made once, and how each extension point combines their answers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from scheduler.config.resolution import ProfilePlugins
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.diagnosis import left_out_status
from scheduler.core.framework.evaluation import RowEvaluations
from scheduler.core.framework.events import HintSignature, RegisteredEvent
from scheduler.core.framework.interface import (
    BindPlugin,
    Depends,
    FailedAttempt,
    FilterPlugin,
    Handle,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from scheduler.core.framework.kept_results import Remembered
from scheduler.core.framework.outcome import ScorePart
from scheduler.core.framework.recorder import CycleRecorder
from scheduler.core.framework.registry import Registry
from scheduler.core.framework.status import Code, PluginError, Status
from scheduler.core.framework.types import PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot

P = TypeVar("P", bound=Plugin)

_SKIP: Final = Code.SKIP
_REMEMBERED_PRE_FILTERS: Final = 4_096
_MEASURED_ENTRIES: Final = 10
"""PreEnqueue plugins are timed one by one at one of so many entries into the queue."""


@dataclass(slots=True)
class PreFilterOutcome:
    """What the PreFilter plugins made of a pod.

    Attributes:
        status: why the attempt ends here, None to go on.
        node_names: the only nodes to look at, None for all.
        narrowing_plugins: who narrowed them.
        skipped: plugins whose Filter has nothing to do in this cycle.
    """

    status: Status | None = None
    node_names: frozenset[str] | None = None
    narrowing_plugins: tuple[str, ...] = ()
    skipped: frozenset[str] = frozenset()


class Framework:
    """The plugins of one profile. Made by the composition root, replaced as a whole when the profile changes.

    Args:
        profile_name: the schedulerName it serves.
        plugins: names by extension point, in order, with weights.
        args: decoded plugin args by plugin name.
        registry: factories of the plugins.
        handle: what plugins may reach outside.
        required: plugins that take part in PreFilter before all others and can't be configured away.
        percentage_of_nodes_to_score: how large a sample of the feasible nodes is enough; None for all of them.
        generation: of the configuration it was made from; stands in each Decision.

    Raises:
        ValueError: a plugin is not in the registry, or there is not exactly one to sort the queue.
    """

    def __init__(
        self,
        profile_name: str,
        plugins: ProfilePlugins,
        args: Mapping[str, object],
        registry: Registry,
        handle: Handle,
        recorder: CycleRecorder,
        required: Sequence[PreFilterPlugin] = (),
        percentage_of_nodes_to_score: int | None = None,
        generation: int = 0,
    ) -> None:
        self.profile_name = profile_name
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self.generation = generation
        self._recorder = recorder
        self._made: dict[str, Plugin] = {plugin.name: plugin for plugin in required}
        self._source = (args, registry, handle)
        self._pre_enqueue = self._implementing(PreEnqueuePlugin, plugins.pre_enqueue)
        (self._queue_sort,) = self._implementing(QueueSortPlugin, plugins.queue_sort)
        self._pre_filters = (*required, *self._preparing(plugins))
        self._remembering = {
            plugin.name: plugin
            for plugin in self._pre_filters
            if isinstance(plugin, FilterPlugin) and plugin.depends is not Depends.CLUSTER
        }
        self.filters = self._implementing(FilterPlugin, plugins.filter)
        self.scores = tuple(
            ScorePart(plugin, plugins.weights[plugin.name]) for plugin in self._implementing(ScorePlugin, plugins.score)
        )
        self._post_filters = self._implementing(PostFilterPlugin, plugins.post_filter)
        self._reserve = self._implementing(ReservePlugin, plugins.reserve)
        self._pre_bind = self._implementing(PreBindPlugin, plugins.pre_bind)
        self._bind = self._implementing(BindPlugin, plugins.bind)
        self._post_bind = self._implementing(PostBindPlugin, plugins.post_bind)
        self.evaluations = RowEvaluations(self.filters, self.scores, recorder)
        self._remembered: Remembered[Hashable, tuple[PodInfo, PreFilterResult | Status | None]] = Remembered(
            _REMEMBERED_PRE_FILTERS
        )
        self._entries = 0

    def _implementing(self, kind: type[P], names: Sequence[str]) -> tuple[P, ...]:
        """The plugins that have something to do at a point, of those named there.

        Much of what kube-scheduler's plugins do in PreFilter and PreScore is a matter of signatures here, so a name may
        well stand at a point for which the plugin has no method. That it serves there at all, the configuration checks.
        """
        plugins = [self._made.get(name) or self._make(name) for name in names]
        return tuple(plugin for plugin in plugins if isinstance(plugin, kind))

    def _preparing(self, plugins: ProfilePlugins) -> tuple[PreFilterPlugin, ...]:
        """The plugins at preFilter, and those at later points that could not work without what they find out there."""
        named = self._implementing(PreFilterPlugin, plugins.pre_filter)
        later = dict.fromkeys((*plugins.filter, *plugins.score, *plugins.reserve, *plugins.pre_bind))
        unnamed = [name for name in later if name not in plugins.pre_filter]
        others = self._implementing(PreFilterPlugin, unnamed)
        return (*named, *(plugin for plugin in others if plugin.depends is Depends.CLUSTER))

    def _make(self, name: str) -> Plugin:
        args, registry, handle = self._source
        factory = registry.get(name)
        if factory is None:
            raise ValueError(f"plugin {name!r} is not known (known: {', '.join(sorted(registry))})")
        plugin = self._made[name] = factory(args.get(name), handle)
        return plugin

    # --- queue

    def registered_events(self) -> dict[str, Sequence[RegisteredEvent]]:
        """The events each plugin asks for, by plugin name."""
        return {name: tuple(plugin.events_to_register()) for name, plugin in self._made.items()}

    def hint_signatures(self) -> dict[str, HintSignature]:
        """What the hints of each plugin read of a pod, by plugin name."""
        return {name: plugin.hint_signature for name, plugin in self._made.items()}

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """None lets the pod into the active queue; else the status of the first plugin that holds it.

        Raises:
            PluginError: a plugin raised.
        """
        self._entries += 1
        measured = self._entries % _MEASURED_ENTRIES == 0
        started = self._recorder.clock()
        status = self._run_pre_enqueue(pod, measured)
        self._record("PreEnqueue", status, started)
        return status

    def _run_pre_enqueue(self, pod: PodInfo, measured: bool) -> Status | None:
        for plugin in self._pre_enqueue:
            started = self._plugin_started(measured)
            try:
                status = plugin.pre_enqueue(pod)
            except Exception as fault:
                raise PluginError(plugin.name, "PreEnqueue", repr(fault)) from fault
            self._plugin_ended(measured, plugin, "PreEnqueue", status, started)
            if status is not None:
                return _by(plugin, status)
        return None

    def sort_key(self, queued: QueuedPodInfo) -> tuple[int | float, ...]:
        """The pod's place in the active queue; smaller comes first."""
        return self._queue_sort.sort_key(queued)

    # --- scheduling cycle

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterOutcome:
        """Ask every PreFilter plugin: the first unresolvable rejection ends it, sets of nodes are intersected."""
        started = self._recorder.clock()
        outcome = self._pre_filter(state, pod, snapshot)
        self._record("PreFilter", outcome.status, started)
        return outcome

    def _pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterOutcome:
        rejection: Status | None = None
        narrowing: list[str] = []
        node_names: frozenset[str] | None = None
        skipped: list[str] = []
        for plugin in self._pre_filters:
            if state.record_plugin_metrics:
                answer = self._measured_pre_filter(plugin, state, pod, snapshot)
            else:
                answer = self._ask_pre_filter(plugin, state, pod, snapshot)
            if answer is None:
                continue
            if isinstance(answer, PreFilterResult):
                narrowing.append(plugin.name)
                node_names = answer.node_names if node_names is None else node_names & answer.node_names
                if not node_names:
                    return PreFilterOutcome(left_out_status(sorted(narrowing), empty=True))
            elif answer.code is _SKIP:
                skipped.append(plugin.name)
            elif answer.code is Code.UNSCHEDULABLE:
                rejection = rejection or _by(plugin, answer)
            else:
                return PreFilterOutcome(_by(plugin, answer))
        return PreFilterOutcome(rejection, node_names, tuple(sorted(narrowing)), frozenset(skipped))

    def _measured_pre_filter(
        self, plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, snapshot: Snapshot
    ) -> PreFilterResult | Status | None:
        started = self._recorder.clock()
        answer = self._ask_pre_filter(plugin, state, pod, snapshot)
        status = answer if isinstance(answer, Status) else None
        self._plugin_ended(True, plugin, "PreFilter", status, started)
        return answer

    def _ask_pre_filter(
        self, plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, snapshot: Snapshot
    ) -> PreFilterResult | Status | None:
        if plugin.name not in self._remembering:
            answer = plugin.pre_filter(state, pod, snapshot)
            if not (isinstance(answer, Status) and answer.code is _SKIP):
                plugin.pre_filtered_pods += 1
            return answer
        signature = self._remembering[plugin.name].filter_signature(pod, snapshot)
        if signature is None:
            return None
        plugin.pre_filtered_pods += 1
        key = (plugin.name, signature)
        known = self._remembered.get(key)
        if known is not None:
            self._remembered.move_to_end(key)
            return known[1]
        answer = plugin.pre_filter(state, pod, snapshot)
        self._remembered.remember(key, (pod, answer))
        return answer

    @property
    def has_post_filter(self) -> bool:
        """Whether some plugin may make room for a pod that fits nowhere."""
        return bool(self._post_filters)

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Ask the PostFilter plugins in order until one finds room, or knows that none can be had.

        Raises:
            PluginError: a plugin gave an error.
        """
        result = PostFilterResult()
        messages: list[str] = []
        for plugin in self._post_filters:
            started = self._plugin_started(attempt.state.record_plugin_metrics)
            answer = plugin.post_filter(attempt)
            status = answer.status
            self._plugin_ended(attempt.state.record_plugin_metrics, plugin, "PostFilter", status, started)
            if status is None or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return answer
            if not status.code.rejected:
                raise PluginError(plugin.name, "PostFilter", status.message)
            if answer.message:
                messages.append(answer.message)
            result = replace(answer, clears_nomination=answer.clears_nomination or result.clears_nomination)
        return replace(result, message=", ".join(messages))

    # --- binding cycle

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Let every Reserve plugin set its part aside; None when all did."""
        started = self._recorder.clock()
        status = self._run_reserve(state, pod, node_name)
        self._record("Reserve", status, started)
        return status

    def _run_reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        for plugin in self._reserve:
            started = self._plugin_started(state.record_plugin_metrics)
            status = plugin.reserve(state, pod, node_name)
            self._plugin_ended(state.record_plugin_metrics, plugin, "Reserve", status, started)
            if status is not None:
                return _running(plugin, "Reserve", status)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Give everything back, in reverse order."""
        started = self._recorder.clock()
        for plugin in reversed(self._reserve):
            plugin_started = self._plugin_started(state.record_plugin_metrics)
            plugin.unreserve(state, pod, node_name)
            self._plugin_ended(state.record_plugin_metrics, plugin, "Unreserve", None, plugin_started)
        self._record("Unreserve", None, started)

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Run the PreBind plugins in order; the first status ends it."""
        started = self._recorder.clock()
        status = await self._run_pre_bind(state, pod, node_name)
        self._record("PreBind", status, started)
        return status

    async def _run_pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        for plugin in self._pre_bind:
            started = self._plugin_started(state.record_plugin_metrics)
            status = await plugin.pre_bind(state, pod, node_name)
            self._plugin_ended(state.record_plugin_metrics, plugin, "PreBind", status, started)
            if status is not None:
                return _running(plugin, "PreBind", status)
        return None

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """The first Bind plugin that does not say SKIP binds; None once the pod is bound."""
        started = self._recorder.clock()
        status: Status | None = Status.of(Code.SKIP)
        for plugin in self._bind:
            plugin_started = self._plugin_started(state.record_plugin_metrics)
            status = await plugin.bind(state, pod, node_name)
            self._plugin_ended(state.record_plugin_metrics, plugin, "Bind", status, plugin_started)
            if status is None or status.code is not Code.SKIP:
                status = status and _by(plugin, status)
                break
        self._record("Bind", status, started)
        return status

    async def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Tell the PostBind plugins."""
        started = self._recorder.clock()
        for plugin in self._post_bind:
            plugin_started = self._plugin_started(state.record_plugin_metrics)
            await plugin.post_bind(state, pod, node_name)
            self._plugin_ended(state.record_plugin_metrics, plugin, "PostBind", None, plugin_started)
        self._record("PostBind", None, started)

    # --- what is measured

    def plugin_evaluations(self) -> dict[tuple[str, str], int]:
        """By plugin and extension point: pods for which PreFilter, nodes for which Filter and Score were asked."""
        counts = {(plugin.name, "PreFilter"): plugin.pre_filtered_pods for plugin in self._pre_filters}
        counts |= {(plugin.name, "Filter"): plugin.filtered_rows for plugin in self.filters}
        return counts | {(part.plugin.name, "Score"): part.plugin.scored_rows for part in self.scores}

    def _plugin_started(self, measured: bool) -> float:
        return self._recorder.clock() if measured else 0.0

    def _plugin_ended(
        self, measured: bool, plugin: Plugin, extension_point: str, status: Status | None, started: float
    ) -> None:
        if measured:
            seconds = self._recorder.clock() - started
            self._recorder.plugin(plugin.name, extension_point, _label(status), seconds)

    def _record(self, extension_point: str, status: Status | None, started: float) -> None:
        seconds = self._recorder.clock() - started
        self._recorder.extension_point(self.profile_name, extension_point, _label(status), seconds)


def _label(status: Status | None) -> str:
    return "Success" if status is None else status.code.label


def _running(plugin: Plugin, extension_point: str, status: Status) -> Status:
    """An error says where it happened, a rejection speaks for itself."""
    if status.code.rejected:
        return _by(plugin, status)
    text = f'running {extension_point} plugin "{plugin.name}": {status.message}'
    return Status.of(status.code, text, plugin=plugin.name)


def _by(plugin: Plugin, status: Status) -> Status:
    return status if status.plugin else Status(status.code, status.reasons, plugin.name)
