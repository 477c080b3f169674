"""KubeSchedulerConfiguration v1 (`kubescheduler.config.k8s.io/v1`) as typed, immutable values.

Attributes are the snake_case of the file's fields; what is said of them here stands in docs/configuration.md, too. A
default that stands here is what an absent field means; the defaults that depend on other fields, and the zero values
that Kubernetes takes for "absent", are filled by `scheduler.config.defaults`. Plugin args are in
`scheduler.config.plugin_args`.
"""

from typing import Final, TypeVar

import msgspec

from scheduler.config.duration import Duration
from scheduler.config.plugin_args import GROUP_VERSION, ConfigStruct, Int32, Int64, PluginArgs

KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME: Final = "podium"

Args = TypeVar("Args", bound=PluginArgs)


class LeaderElectionConfiguration(ConfigStruct, frozen=True, kw_only=True):
    """Which of several replicas works.

    Attributes:
        leader_elect: whether to elect one. Not supported yet: `true` is refused, and so are the other fields without
            `leaderElect: false`, since kube-scheduler takes an absent one for `true`.
        lease_duration: how long others wait for a leader that fell silent; longer than `renewDeadline`.
        renew_deadline: how long the leader tries to renew; longer than 1.2 times `retryPeriod`.
        retry_period: the time between two tries.
        resource_lock: `leases`.
        resource_name: the lease's name. `kube-scheduler` in `kube-system` is refused without `--take-over`.
        resource_namespace: the lease's namespace.
    """

    leader_elect: bool | None = None
    lease_duration: Duration = Duration.of_seconds(15)
    renew_deadline: Duration = Duration.of_seconds(10)
    retry_period: Duration = Duration.of_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = "podium"
    resource_namespace: str = "kube-system"


class ClientConnectionConfiguration(ConfigStruct, frozen=True, kw_only=True):
    """How to reach the API server.

    Attributes:
        kubeconfig: a file that leads to it; `--kubeconfig` goes before. When neither is given: `$KUBECONFIG`, the
            pod's service account, `~/.kube/config`.
        accept_content_types: no effect: Podium speaks JSON.
        content_type: likewise.
        qps: calls a second; negative for no limit. Absent or 0: no limit, or 50 when `burst` is written.
        burst: calls at once, not negative. Absent or 0: no limit, or 100 when `qps` is written.
    """

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/json"
    qps: float | None = None
    burst: Int32 | None = None

    def calls_per_second(self) -> float | None:
        """The limit of an effective configuration; None for none, which a negative `qps` asks for, too."""
        return self.qps if self.qps is not None and self.qps > 0 else None


class Plugin(ConfigStruct, frozen=True, kw_only=True):
    """A plugin at an extension point.

    Attributes:
        name: one of the plugins below; in `disabled` also `*` for all.
        weight: factor of its score, not negative; absent and 0 are 1, also for a plugin whose default is another.
    """

    name: str
    weight: Int32 | None = None


class PluginSet(ConfigStruct, frozen=True, kw_only=True):
    """What a profile changes at an extension point.

    Attributes:
        enabled: plugins to run besides the default ones, in this order; a default plugin named here keeps its place at
            `multiPoint`, moves to the front elsewhere, and takes the weight written here.
        disabled: default plugins not to run; `*` for all of them.
    """

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(ConfigStruct, frozen=True, kw_only=True):
    """The extension points of a profile.

    Attributes:
        pre_enqueue: may hold a pod back from the queue.
        queue_sort: sorts the queue; exactly one plugin, the same in all profiles.
        pre_filter: looks at the pod alone, may turn it away or narrow the nodes.
        filter: turns nodes away.
        post_filter: makes room for a pod that fits nowhere; without DefaultPreemption nobody is evicted.
        pre_score: prepares scores.
        score: ranks the nodes that are left.
        reserve: sets aside what the pod will use.
        permit: may delay or forbid binding.
        pre_bind: prepares binding.
        bind: binds; at least one plugin.
        post_bind: is told of it.
        multi_point: stands for every point at which a plugin serves; the default plugins are here.
        placement_generate: not supported yet: there are no pod groups.
        placement_score: likewise.
        pod_group_post_filter: likewise.
    """

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()


class PluginConfig(ConfigStruct, frozen=True, kw_only=True):
    """The args of one plugin.

    Attributes:
        name: the plugin; each at most once in a profile.
        args: its args; what is left out of them has its default. `kind` (the plugin's name and `Args`) and `apiVersion`
            may stand there.
    """

    name: str
    args: PluginArgs | None = None


class KubeSchedulerProfile(ConfigStruct, frozen=True, kw_only=True):
    """The rules for the pods of one `spec.schedulerName`.

    Attributes:
        scheduler_name: the pods it serves; each name once. Only a single profile may leave it out: then it is `podium`.
            `default-scheduler` is refused without `--take-over`.
        percentage_of_nodes_to_score: as for all profiles, before which it goes.
        plugins: which plugins run, in which order, with which weights.
        plugin_config: args of plugins.
    """

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()

    def args(self, args_type: type[Args]) -> Args:
        """The args of the plugin that `args_type` belongs to: the profile's, else the defaults."""
        for entry in self.plugin_config:
            if isinstance(entry.args, args_type):
                return entry.args
        return args_type()


class ExtenderManagedResource(ConfigStruct, frozen=True, kw_only=True):
    """A resource that an extender cares for.

    Attributes:
        name: an extended resource; of one extender at most.
        ignored_by_scheduler: whether NodeResourcesFit leaves it to the extender.
    """

    name: str
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigStruct, frozen=True, kw_only=True):
    """TLS towards an extender; data goes before files.

    Attributes:
        insecure: whether its certificate is not checked.
        server_name: the name that its certificate must have, when not the host's.
        cert_file: the client's certificate, PEM.
        key_file: the client's key, PEM.
        ca_file: who signs the extender's certificate, PEM.
        cert_data: PEM in base64.
        key_data: likewise; shown nowhere.
        ca_data: likewise.
    """

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes | None = None
    key_data: bytes | None = None
    ca_data: bytes | None = None


class Extender(ConfigStruct, frozen=True, kw_only=True):
    """A web service that has a say. Not supported yet: a configuration with extenders is refused.

    Attributes:
        url_prefix: its address, to which a verb is added.
        filter_verb: asked to turn nodes away; as all verbs, not asked when empty.
        preempt_verb: asked about victims.
        prioritize_verb: asked for scores.
        weight: factor of its scores; above 0 with `prioritizeVerb`.
        bind_verb: asked to bind; of one extender at most.
        enable_https: whether to use TLS.
        tls_config: how.
        http_timeout: for each call; 0 stands for 5s.
        node_cache_capable: whether it wants names of nodes instead of nodes.
        managed_resources: it is asked only about pods that use one of these; when empty, about all.
        ignorable: whether scheduling goes on when it fails.
    """

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration.of_seconds(5)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class PodiumConfiguration(ConfigStruct, frozen=True, kw_only=True):
    """What kube-scheduler has no field for."""


class KubeSchedulerConfiguration(ConfigStruct, frozen=True, kw_only=True, tag_field="kind", tag=KIND):
    """The whole configuration.

    Attributes:
        api_version: `kubescheduler.config.k8s.io/v1`.
        parallelism: above 0; no effect: plugins work on all nodes at once.
        leader_election: which of several replicas works.
        client_connection: how to reach the API server.
        enable_profiling: no effect.
        enable_contention_profiling: no effect; absent, it follows `enableProfiling`.
        percentage_of_nodes_to_score: 1 to 100: so many feasible nodes, but at least 100, are scored instead of all;
            0: 50 percent in a small cluster down to 5 in a large one. Absent: all nodes.
        pod_initial_backoff_seconds: how long a pod waits after its first failure, above 0; doubled by each further one.
        pod_max_backoff_seconds: the longest wait; not less than `podInitialBackoffSeconds`.
        profiles: rules by `spec.schedulerName`; absent or empty, one profile with the defaults.
        extenders: web services that have a say. Not supported yet.
        delay_cache_until_active: not supported yet: there is no leader election.
        podium: what kube-scheduler has no field for; nothing yet.
    """

    api_version: str = GROUP_VERSION
    parallelism: Int32 = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
    podium: PodiumConfiguration = PodiumConfiguration()

    def percentage_for(self, profile: KubeSchedulerProfile) -> int | None:
        """The profile's percentage of nodes to score, else the one of all profiles."""
        own = profile.percentage_of_nodes_to_score
        return self.percentage_of_nodes_to_score if own is None else own
