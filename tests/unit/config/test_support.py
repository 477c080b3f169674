"""What is refused by name because Podium does not do it, and the guard against taking over."""

from typing import Any

import pytest
import yaml

from scheduler.config.view import configuration_view
from tests.unit.config.configurations import KUBE_SCHEDULER_DEFAULTS, faults, load, profile, with_args


def enabling(name: str, point: str = "multiPoint") -> dict[str, Any]:
    """A profile that enables this plugin at this point."""
    return profile(plugins={point: {"enabled": [{"name": name}]}})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"leaderElection": {"leaderElect": True}}, "leaderElection.leaderElect: leader election is not supported yet"),
        ({"leaderElection": {"leaseDuration": "15s"}}, "leaderElection: leader election, which kube-scheduler does"),
        ({"delayCacheUntilActive": True}, "delayCacheUntilActive: not supported yet"),
        ({"extenders": [{"urlPrefix": "http://e"}]}, "extenders: HTTP extenders are not supported yet"),
        (
            enabling("DynamicResources", "filter"),
            'profiles[0].plugins.filter.enabled[0].name: the plugin "DynamicResources" is not supported yet',
        ),
        (enabling("GangScheduling", "permit"), 'the plugin "GangScheduling" is not supported yet'),
        (enabling("PodGroupPodsCount", "placementScore"), 'the plugin "PodGroupPodsCount" is not supported yet'),
        (
            enabling("NodeResourceFit", "filter"),
            'no plugin is named "NodeResourceFit" (did you mean "NodeResourcesFit"?)',
        ),
        (enabling("EBSLimits", "filter"), 'the plugin "EBSLimits" was removed (NodeVolumeLimits does its work'),
        (enabling("ImageLocality", "filter"), '"ImageLocality" does not serve at filter (it serves at score)'),
        (enabling("DefaultPreemption", "podGroupPostFilter"), "pod groups are not supported yet (remove it)"),
        (with_args("GangScheduling"), 'pluginConfig[0].name: the plugin "GangScheduling" is not supported yet'),
        (with_args("Foo", x=1), 'profiles[0].pluginConfig[0].name: no plugin is named "Foo"'),
        (
            profile(plugins={"filter": {"enabled": [{"name": "NodeName"}, {"name": "NodeName"}]}}),
            'profiles[0].plugins.filter.enabled[1].name: "NodeName" stands twice',
        ),
        (
            profile(plugins={"score": {"enabled": [{"name": "ImageLocality", "weight": -1}]}}),
            "profiles[0].plugins.score.enabled[0].weight: -1 is negative",
        ),
    ],
)
def test_is_refused_by_name(fields: dict[str, Any], expected: str) -> None:
    """The one fault names what is asked, and the way out."""
    (fault,) = faults(fields)
    assert expected in str(fault)


@pytest.mark.parametrize(
    "fields",
    [
        {"percentageOfNodesToScore": 0, "profiles": [{"percentageOfNodesToScore": 50}]},
        {"leaderElection": {"leaderElect": False, "leaseDuration": "20s", "resourceName": "kube-scheduler"}},
        {"leaderElection": None},
        profile(plugins={"multiPoint": {"disabled": [{"name": "DynamicResources"}, {"name": "EBSLimits"}]}}),
        profile(plugins={"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}}),
        {"parallelism": 4, "enableProfiling": False},
    ],
)
def test_is_taken(fields: dict[str, Any]) -> None:
    """Disabling what is not there, and what asks for nothing that is missing, is fine."""
    assert faults(fields) == ()


def test_the_clusters_own_name_is_guarded() -> None:
    """Serving default-scheduler needs --take-over, in whichever profile it stands."""
    fields = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "default-scheduler"}]}
    (fault,) = faults(fields)
    assert fault.path == "profiles[1].schedulerName"
    assert "--take-over" in fault.hint
    assert faults(fields, take_over=True) == ()


def test_the_clusters_own_lease_is_guarded() -> None:
    """Asking for kube-scheduler's lease needs --take-over; the same name elsewhere does not."""

    def guarded(**election: Any) -> bool:
        return any("--take-over" in fault.hint for fault in faults({"leaderElection": election}))

    assert guarded(leaderElect=True, resourceName="kube-scheduler")
    assert guarded(resourceName="kube-scheduler", resourceNamespace="kube-system")
    assert not guarded(leaderElect=True, resourceName="kube-scheduler", resourceNamespace="team")
    assert not guarded(leaderElect=True)
    taken_over = faults({"leaderElection": {"leaderElect": True, "resourceName": "kube-scheduler"}}, take_over=True)
    assert [fault.path for fault in taken_over] == ["leaderElection.leaderElect"]


def test_what_has_no_effect_is_noted() -> None:
    """Fields that are read and do nothing are told, a typo among the disabled plugins with its correction."""
    loaded = load(
        {
            "parallelism": 4,
            "enableProfiling": True,
            "clientConnection": {"contentType": "application/vnd.kubernetes.protobuf"},
            "profiles": [{"plugins": {"score": {"disabled": [{"name": "ImageLocalty"}, {"name": "Mine"}]}}}],
        }
    )
    assert loaded.notes == (
        "parallelism has no effect: plugins work on all nodes at once",
        "enableProfiling has no effect: there is no Go runtime to profile",
        "clientConnection.contentType has no effect: Podium speaks JSON with the API server",
        (
            'profiles[0].plugins.score.disabled[0] has no effect: no plugin is named "ImageLocalty" '
            '(did you mean "ImageLocality"?)'
        ),
        'profiles[0].plugins.score.disabled[1] has no effect: no plugin is named "Mine"',
    )


def test_what_kube_scheduler_writes_out_is_taken() -> None:
    """Its default configuration in full names a plugin that Podium lacks: it is left out as by default, and noted."""
    document = yaml.safe_load(KUBE_SCHEDULER_DEFAULTS.read_text())
    loaded = load(document, take_over=True)
    by_default = load(
        {"percentageOfNodesToScore": 0, "profiles": [{"schedulerName": "default-scheduler"}]}, take_over=True
    )
    assert loaded.plugins == by_default.plugins
    lacking = 'has no effect: the plugin "DynamicResources" is not supported yet'
    assert f"profiles[0].plugins.multiPoint.enabled[14] {lacking}" in loaded.notes
    assert f"profiles[0].pluginConfig[1] {lacking}" in loaded.notes
    shown = configuration_view(loaded.configuration)["profiles"][0]["plugins"]["multiPoint"]["enabled"]
    assert {"name": "DynamicResources", "weight": 2} not in shown


def test_args_of_a_plugin_that_is_left_out_must_be_right() -> None:
    """The file is checked as kube-scheduler would check it."""
    (fault,) = faults(with_args("DynamicResources", filterTimeout="-1s"))
    assert fault.path == "profiles[0].pluginConfig[0].args.filterTimeout"


def test_a_quiet_file_has_no_notes() -> None:
    """Nothing is said about defaults, or about what is written and takes effect."""
    assert load().notes == ()
    assert load({"clientConnection": {"contentType": "application/json", "qps": 5}}).notes == ()
