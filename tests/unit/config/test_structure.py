"""Misfits between a file and the types: all of them, each with its path, and no echoes."""

import pytest

from scheduler.config.faults import ConfigurationError
from scheduler.config.loading import parse_configuration
from tests.unit.config.configurations import ALL_SUPPORTED, faults, load, profile, with_args


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"paralelism": 3}, 'paralelism: unknown field (did you mean "parallelism"?)'),
        ({"Parallelism": 3}, 'Parallelism: unknown field (did you mean "parallelism"?)'),
        ({"podium": {"x": 1}}, "podium.x: unknown field (no field is known here)"),
        ({"parallelism": "5"}, 'parallelism: expected a whole number, got "5"'),
        ({"parallelism": 16.0}, "parallelism: expected a whole number, got 16.0"),
        ({"parallelism": True}, "parallelism: expected a whole number, got true"),
        ({"parallelism": 2**31}, "parallelism: 2147483648 is not between -2147483648 and 2147483647"),
        ({"enableProfiling": "yes"}, 'enableProfiling: expected true or false, got "yes"'),
        ({"clientConnection": []}, "clientConnection: expected a mapping, got a list"),
        ({"clientConnection": {"qps": "5"}}, 'clientConnection.qps: expected a number, got "5"'),
        ({"clientConnection": {"kubeconfig": 7}}, "clientConnection.kubeconfig: expected text, got 7"),
        ({"profiles": {}}, "profiles: expected a list, got a mapping"),
        ({"profiles": ["x"]}, 'profiles[0]: expected a mapping, got "x"'),
        (
            {"leaderElection": {"leaderElect": False, "leaseDuration": 5}},
            'leaseDuration: expected a duration such as "15s", got 5',
        ),
        (
            {"leaderElection": {"leaderElect": False, "leaseDuration": "5"}},
            '"5" is not a duration: write a number and a unit, such as 15s, 1m30s or 100ms',
        ),
        (
            profile(plugins={"score": {"enabled": [{"weight": 1}]}}),
            "profiles[0].plugins.score.enabled[0].name: required",
        ),
        (
            with_args("NodeResourcesFit", scoringStrategy={"type": "Least"}),
            (
                "profiles[0].pluginConfig[0].args.scoringStrategy.type: "
                '"Least" is not one of LeastAllocated, MostAllocated, RequestedToCapacityRatio'
            ),
        ),
        (
            with_args("NodeAffinity", addedAffinity={"required": {}}),
            (
                "profiles[0].pluginConfig[0].args.addedAffinity.required: unknown field "
                "(known here: preferredDuringSchedulingIgnoredDuringExecution, "
                "requiredDuringSchedulingIgnoredDuringExecution)"
            ),
        ),
        (
            with_args("NodeAffinity", kind="NodeResourcesFitArgs"),
            (
                'pluginConfig[0].args.kind: "NodeResourcesFitArgs" does not go with the plugin NodeAffinity '
                "(write NodeAffinityArgs)"
            ),
        ),
        (
            with_args("NodeName", x=1),
            'profiles[0].pluginConfig[0].args: the plugin "NodeName" takes no args (remove them)',
        ),
        (profile(pluginConfig=[{"name": "NodeAffinity", "args": [1]}]), "args: expected a mapping, got a list"),
        (profile(pluginConfig=[{"args": {"x": 1}}]), "profiles[0].pluginConfig[0].name: required"),
    ],
)
def test_a_misfit_is_named_once(fields: dict[str, object], expected: str) -> None:
    """The one fault has the path, what was found and the way out."""
    (fault,) = faults(fields)
    assert str(fault).endswith(expected)


def test_null_is_absent() -> None:
    """A field whose value is null has its default, wherever it stands; one that must be there is missing."""
    nulls = profile(plugins=None, pluginConfig=[{"name": "NodeAffinity", "args": None}])
    absent = profile(pluginConfig=[{"name": "NodeAffinity"}])
    assert load({"parallelism": None, "leaderElection": None, **nulls}).configuration == load(absent).configuration
    (fault,) = faults(profile(pluginConfig=[{"name": None}]))
    assert str(fault) == "profiles[0].pluginConfig[0].name: required"


def test_an_unknown_field_may_not_be_null_either() -> None:
    """A misspelt field is told also when nothing is written to it."""
    (fault,) = faults({"paralelism": None})
    assert str(fault) == 'paralelism: unknown field (did you mean "parallelism"?)'


def test_empty_text_is_absent_where_one_of_several_names_is_expected() -> None:
    """kube-scheduler fills in the default; where there is none, a name must be given."""
    assert faults(with_args("PodTopologySpread", defaultingType=""), known=ALL_SUPPORTED) == ()
    (fault,) = faults(with_args("NodeResourcesFit", scoringStrategy={"type": ""}))
    assert fault.path == "profiles[0].pluginConfig[0].args.scoringStrategy.type"


def test_base64_is_checked() -> None:
    """Data of an extender's certificate that is not base64 is refused before anyone uses it."""
    found = faults({"extenders": [{"urlPrefix": "http://e", "tlsConfig": {"caData": "!"}}]})
    assert "extenders[0].tlsConfig.caData: expected base64" in map(str, found)


def test_all_misfits_and_all_broken_rules_come_at_once() -> None:
    """A file with misfits is still checked for its meaning, and every fault is listed."""
    found = faults(
        {
            "paralelism": 3,
            "podInitialBackoffSeconds": 0,
            "profiles": [{"schedulerName": "a", "foo": 1}, {"schedulerName": "a"}],
            "clientConnection": {"qps": "x", "burst": -1},
        }
    )
    assert {fault.path for fault in found} == {
        "paralelism",
        "podInitialBackoffSeconds",
        "profiles[0].foo",
        "profiles[1].schedulerName",
        "clientConnection.qps",
        "clientConnection.burst",
    }


def test_what_did_not_fit_causes_no_echo() -> None:
    """A value that was left out because it did not fit is not called missing as well."""
    assert [fault.path for fault in faults({"profiles": [{"schedulerName": 1}, {"schedulerName": "b"}]})] == [
        "profiles[0].schedulerName"
    ]
    misspelt = {"profiles": [{"shedulerName": "a"}, {"schedulerName": "b"}]}
    assert [fault.path for fault in faults(misspelt)] == ["profiles[0].shedulerName"]


def test_long_values_are_cut() -> None:
    """A huge value does not make a huge message."""
    (fault,) = faults({"parallelism": "x" * 1000})
    assert len(fault.message) < 120


def test_numbers_beyond_64_bits_are_named_as_such() -> None:
    """A number that no message should spell out is described."""
    header = b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    with pytest.raises(ConfigurationError, match="parallelism: a number beyond 64 bits is not between"):
        parse_configuration(header + b"parallelism: 0x" + b"f" * 9000, source="f")


def test_the_podium_block_may_be_there() -> None:
    """The block of our own fields is a field of the configuration."""
    assert load({"podium": {}}).configuration.podium is not None
