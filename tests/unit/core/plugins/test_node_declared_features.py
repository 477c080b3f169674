"""NodeDeclaredFeatures: what a pod's spec needs of the kubelet, and who says to have it."""

import pytest
from msgspec.structs import replace

from scheduler.api.types import Container, ContainerRestartRule
from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import UU, parsed, rejections, snapshot_of

PLUGIN = NodeDeclaredFeatures()
RESTART = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"
LACKING = (UU, ["node(s) didn't match Pod's required features"])


def with_spec(**changes: object) -> PodBuilder:
    pod = make_pod("p").obj()
    return PodBuilder(replace(pod, spec=replace(pod.spec, **changes)))


def container(*actions: str) -> Container:
    return Container("c", restart_policy_rules=tuple(map(ContainerRestartRule, actions)))


PLAIN = with_spec()
RESTARTS_ALL = with_spec(containers=(container(), container("Restart", "RestartAllContainers")))
OWN_USERS_ON_HOST_NETWORK = with_spec(host_network=True, host_users=False)


@pytest.mark.parametrize(
    ("pod", "lacking"),
    [
        (PLAIN, []),
        (RESTARTS_ALL, ["nothing", "users"]),
        (with_spec(init_containers=(container("RestartAllContainers"),)), ["nothing", "users"]),
        (with_spec(containers=(container("Restart"),)), []),
        (OWN_USERS_ON_HOST_NETWORK, ["nothing", "restart"]),
        (with_spec(host_network=True), []),
        (with_spec(host_users=False), []),
        (with_spec(host_network=True, host_users=True), []),
        (
            with_spec(host_network=True, host_users=False, containers=(container("RestartAllContainers"),)),
            ["nothing", "restart", "users"],
        ),
    ],
)
def test_nodes_that_lack_a_needed_feature_are_left_out(pod: PodBuilder, lacking: list[str]) -> None:
    """The cases are the oracle's: each field alone and with others, on nodes with none, either or both features."""
    snapshot = snapshot_of(
        make_node("nothing"),
        make_node("restart").declared_features(RESTART),
        make_node("users").declared_features("AndAnother", USERS),
        make_node("both").declared_features(USERS, RESTART),
    )
    assert rejections(PLUGIN, pod, snapshot) == dict.fromkeys(lacking, LACKING)


def test_pods_that_need_the_same_read_alike() -> None:
    """Whatever else they ask; and a pod that needs nothing is not looked at."""
    snapshot = snapshot_of(make_node("n1"))
    other = RESTARTS_ALL.toleration("gpu", "Exists").obj()
    assert PLUGIN.filter_signature(parsed(RESTARTS_ALL), snapshot) == PLUGIN.filter_signature(parsed(other), snapshot)
    assert PLUGIN.filter_signature(parsed(PLAIN), snapshot) is None
    assert PLUGIN.hint_signature(parsed(RESTARTS_ALL)) == PLUGIN.hint_signature(parsed(other))
    assert PLUGIN.hint_signature(parsed(RESTARTS_ALL)) != PLUGIN.hint_signature(parsed(OWN_USERS_ON_HOST_NETWORK))


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (None, make_node("n").declared_features(RESTART), True),
        (None, make_node("n").declared_features(USERS), False),
        (make_node("n"), make_node("n").declared_features(USERS, RESTART), True),
        (make_node("n").declared_features(RESTART), make_node("n").declared_features(RESTART, USERS), False),
        (make_node("n").declared_features(RESTART), make_node("n"), False),
    ],
)
def test_a_node_that_gains_the_features_wakes_the_pod(old: NodeBuilder | None, new: NodeBuilder, helps: bool) -> None:
    """A node that had them before cannot be what the pod waited for, nor one that still lacks them."""
    (node, _) = PLUGIN.events_to_register()
    assert node.hint is not None
    assert node.hint(QueuedPodInfo(parsed(RESTARTS_ALL), 0.0), old.obj() if old else None, new.obj()) is helps


def test_a_pod_that_needs_others_than_before_is_woken() -> None:
    """Any other change of it is none that could help."""
    (_, own) = PLUGIN.events_to_register()
    assert own.hint is not None
    queued = QueuedPodInfo(parsed(RESTARTS_ALL), 0.0)
    assert own.hint(queued, parsed(RESTARTS_ALL), parsed(PLAIN))
    assert not own.hint(queued, parsed(RESTARTS_ALL), parsed(RESTARTS_ALL.label(app="web")))
