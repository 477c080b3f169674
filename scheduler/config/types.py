"""KubeSchedulerConfiguration v1 (`kubescheduler.config.k8s.io/v1`) as typed, immutable values.

Attributes are the snake_case of the file's fields. A default that stands here is what an absent field means; the
defaults that depend on other fields, and the zero values that Kubernetes takes for "absent", are filled by
`scheduler.config.defaults`. Plugin args are in `scheduler.config.plugin_args`.
"""

from typing import Final, TypeVar

import msgspec

from scheduler.config.duration import Duration
from scheduler.config.plugin_args import GROUP_VERSION, ConfigStruct, Int32, Int64, PluginArgs

KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME: Final = "podium"

Args = TypeVar("Args", bound=PluginArgs)


class LeaderElectionConfiguration(ConfigStruct, frozen=True, kw_only=True):
    """Which of several replicas works. `leader_elect` is None when the file does not say."""

    leader_elect: bool | None = None
    lease_duration: Duration = Duration.of_seconds(15)
    renew_deadline: Duration = Duration.of_seconds(10)
    retry_period: Duration = Duration.of_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = "podium"
    resource_namespace: str = "kube-system"


class ClientConnectionConfiguration(ConfigStruct, frozen=True, kw_only=True):
    """How to reach the API server. Without `qps` and `burst` Podium does not limit itself (both None)."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/json"
    qps: float | None = None
    burst: Int32 | None = None

    def calls_per_second(self) -> float | None:
        """The limit of an effective configuration; None for none, which a negative `qps` asks for, too."""
        return self.qps if self.qps is not None and self.qps > 0 else None


class Plugin(ConfigStruct, frozen=True, kw_only=True):
    """A plugin's name and its weight in the score; None and 0 stand for 1."""

    name: str
    weight: Int32 | None = None


class PluginSet(ConfigStruct, frozen=True, kw_only=True):
    """Plugins to enable after the default ones, and default ones to disable (`*` for all)."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(ConfigStruct, frozen=True, kw_only=True):
    """Plugins by extension point; those of `multi_point` serve at every point they have."""

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
    """The args of one plugin."""

    name: str
    args: PluginArgs | None = None


class KubeSchedulerProfile(ConfigStruct, frozen=True, kw_only=True):
    """The rules for the pods of one `spec.schedulerName`."""

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
    """An extended resource that the extender cares for, and whether the scheduler itself ignores it."""

    name: str
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigStruct, frozen=True, kw_only=True):
    """TLS towards an extender; data (PEM, base64 in the file) takes precedence over files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes | None = None
    key_data: bytes | None = None
    ca_data: bytes | None = None


class Extender(ConfigStruct, frozen=True, kw_only=True):
    """An HTTP extender: a verb that is empty is not asked; `http_timeout` 0 stands for 5 s."""

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
    """The whole configuration. `percentage_of_nodes_to_score` None means all nodes, 0 means adaptive."""

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
