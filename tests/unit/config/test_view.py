"""The effective configuration as plain data."""

import msgspec
from msgspec.structs import replace

from scheduler.config.loading import parse_configuration
from scheduler.config.types import Extender, ExtenderTLSConfig
from scheduler.config.view import configuration_view
from tests.unit.config.configurations import faults, load, profile, verdicts, with_args


def test_what_is_shown_can_be_loaded_again() -> None:
    """The view of an effective configuration is itself a valid file with the same meaning."""
    configuration = load(profile(plugins={"score": {"disabled": [{"name": "ImageLocality"}]}})).configuration
    again = parse_configuration(msgspec.json.encode(configuration_view(configuration)), source="view")
    assert again.configuration == configuration


def test_an_affinity_without_terms_is_kept() -> None:
    """Required terms that are none match no node; left out, every node would match."""
    added: dict[str, object] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    configuration = load(with_args("NodeAffinity", addedAffinity=added)).configuration
    again = parse_configuration(msgspec.json.encode(configuration_view(configuration)), source="view")
    assert again.configuration == configuration


def test_whatever_is_shown_can_be_loaded_again() -> None:
    """So it is with every configuration among kube-scheduler's verdicts that has no faults."""
    shown = 0
    for verdict in verdicts():
        if faults(verdict.config, take_over=True):
            continue
        shown += 1
        loaded = load(verdict.config, take_over=True)
        view = msgspec.json.encode(configuration_view(loaded.configuration))
        again = parse_configuration(view, source="view", take_over=True)
        assert again.configuration == loaded.configuration
        assert again.plugins == loaded.plugins
    assert shown > 100


def test_durations_are_text_and_unset_fields_are_left_out() -> None:
    """The spelling is that of the file."""
    view = configuration_view(load().configuration)
    assert view["leaderElection"]["leaseDuration"] == "15s"
    assert "percentageOfNodesToScore" not in view
    assert "podium" not in view


def test_private_keys_are_not_shown() -> None:
    """A key in an extender's TLS settings is redacted, its certificate is not."""
    tls = ExtenderTLSConfig(cert_data=b"certificate", key_data=b"secret")
    configuration = replace(load().configuration, extenders=(Extender(url_prefix="http://e", tls_config=tls),))
    shown = configuration_view(configuration)["extenders"][0]["tlsConfig"]
    assert shown["keyData"] == "--- REDACTED ---"
    assert shown["certData"] == "Y2VydGlmaWNhdGU="
