"""Profiles put to work: each framework has the plugins, weights, args and percentage of its own profile."""

import gzip
from pathlib import Path
from typing import Any

import msgspec

from scheduler.config.faults import ConfigurationError
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.frameworks import build_frameworks
from tests.unit.config.configurations import load
from tests.unit.core.framework.profiles import no_api_server

VERDICTS = Path(__file__).parent / "config" / "verdicts.jsonl.gz"


def frameworks(fields: dict[str, Any]) -> dict[str, Framework]:
    """The frameworks of a configuration with these top-level fields."""
    return build_frameworks(load(fields, take_over=True), no_api_server(), SilentRecorder())


def test_profiles_share_no_plugin() -> None:
    """One plugin in two profiles is two plugins, each with its own args and weight."""
    packing = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    weighed = {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}]}}
    made = frameworks(
        {
            "percentageOfNodesToScore": 30,
            "profiles": [
                {"schedulerName": "a", "plugins": weighed},
                {"schedulerName": "b", "pluginConfig": [packing], "percentageOfNodesToScore": 0},
            ],
        }
    )
    assert list(made) == ["a", "b"]
    (of_a, of_b) = (
        next(part for part in framework.scores if part.plugin.name == "NodeResourcesFit") for framework in made.values()
    )
    assert (of_a.weight, of_b.weight) == (5, 1)
    assert of_a.plugin is not of_b.plugin
    assert [framework.percentage_of_nodes_to_score for framework in made.values()] == [30, 0]


def test_whatever_is_taken_can_be_put_to_work() -> None:
    """No configuration that was read without a fault fails later, when its plugins are made."""
    built = 0
    for line in gzip.decompress(VERDICTS.read_bytes()).splitlines():
        try:
            made = frameworks(msgspec.json.decode(line)["config"])
        except ConfigurationError:
            continue
        built += 1
        assert all(framework.profile_name == name for name, framework in made.items())
    assert built > 100
