"""The expansion of multiPoint, held against kube-scheduler's own answers and the rules one by one."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler.config.plugin_names import ExtensionPoint
from scheduler.config.resolution import ProfilePlugins
from tests.unit.config.configurations import ALL_SUPPORTED, load, profile

GOLDENS = msgspec.json.decode((Path(__file__).parent / "multi_point_goldens.json").read_bytes())


def resolved(**plugins: Any) -> ProfilePlugins:
    """The plugins of a profile with these plugin sets, with every default plugin there."""
    return load(profile(plugins=plugins), known=ALL_SUPPORTED).plugins["test"]


@pytest.mark.parametrize("golden", GOLDENS, ids=range(len(GOLDENS)))
def test_equals_kube_scheduler(golden: dict[str, Any]) -> None:
    """Each profile expands to the lists and weights that kube-scheduler 1.37.2 logged for it."""
    plugins = resolved(**golden["plugins"])
    expected = golden["expanded"]
    for point in ExtensionPoint:
        if point is not ExtensionPoint.SCORE:
            assert list(plugins.at(point)) == expected.get(point.label, [])
    assert [[name, plugins.weights[name]] for name in plugins.score] == expected.get("Score", [])


def test_the_default_profile() -> None:
    """Without a word the supported default plugins run in kube-scheduler's order with its weights."""
    plugins = load().plugins["podium"]
    assert plugins.pre_enqueue == ("SchedulingGates", "DefaultPreemption")
    assert plugins.queue_sort == ("PrioritySort",)
    assert plugins.filter == (
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeDeclaredFeatures",
    )
    assert plugins.weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert plugins.score == tuple(plugins.weights)
    assert plugins.bind == ("DefaultBinder",)
    assert plugins.post_filter == ("DefaultPreemption",)
    assert plugins.reserve == plugins.pre_bind == ("VolumeBinding",)
    assert plugins.permit == plugins.post_bind == ()
    assert "DynamicResources" not in plugins.names()


def test_named_ones_come_first_then_multi_point_then_the_others() -> None:
    """The three parts stand in the order of section "override, expand, append"."""
    plugins = load(
        profile(
            plugins={
                "multiPoint": {"disabled": [{"name": "ImageLocality"}]},
                "score": {
                    "enabled": [{"name": "ImageLocality"}, {"name": "NodeResourcesFit"}, {"name": "NodeAffinity"}]
                },
            }
        )
    ).plugins["test"]
    assert plugins.score == (
        "NodeResourcesFit",
        "NodeAffinity",
        "TaintToleration",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    )


def test_naming_a_plugin_without_a_weight_resets_it() -> None:
    """At score a missing weight and 0 are 1, even over a default weight of 3; a weight there wins over multiPoint's."""
    named = resolved(score={"enabled": [{"name": "TaintToleration"}, {"name": "NodeAffinity", "weight": 0}]})
    assert (named.weights["TaintToleration"], named.weights["NodeAffinity"]) == (1, 1)
    both = resolved(
        multiPoint={"enabled": [{"name": "TaintToleration", "weight": 4}]},
        score={"enabled": [{"name": "TaintToleration", "weight": 9}]},
    )
    assert both.weights["TaintToleration"] == 9
    again = resolved(multiPoint={"enabled": [{"name": "TaintToleration", "weight": 4}]})
    assert again.weights["TaintToleration"] == 4
    assert again.score == resolved().score


def test_a_disabled_plugin_has_no_weight() -> None:
    """Weights are those of the plugins that score."""
    plugins = resolved(score={"disabled": [{"name": "ImageLocality"}]})
    assert "ImageLocality" not in plugins.score
    assert set(plugins.weights) == set(plugins.score)


def test_profiles_resolve_each_for_itself() -> None:
    """Several profiles keep their order and their own plugins."""
    loaded = load(
        {
            "profiles": [
                {"schedulerName": "b", "plugins": {"score": {"disabled": [{"name": "*"}]}}},
                {"schedulerName": "a"},
            ]
        }
    )
    assert list(loaded.plugins) == ["b", "a"]
    assert loaded.plugins["b"].score == ()
    assert loaded.plugins["b"].weights == {}
    assert loaded.plugins["a"].score
