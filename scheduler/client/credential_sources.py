"""Readers of kubeconfig files and service accounts, on the official `kubernetes` package.

Everything here blocks, the import too (0.4 s, 34 MiB): `credentials` imports and calls it in a thread.
"""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import base64
import json
import math
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog
import yaml
from kubernetes.client import Configuration
from kubernetes.client.rest import is_socks_proxy_url, should_bypass_proxies
from kubernetes.config import ConfigException, incluster_config
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from scheduler.client.credentials import CredentialsError, LoadedCredential, Tls

log = structlog.get_logger(__name__)

_FILES_READ_AGAIN_SECONDS = 75.0  # four fifths of it is one minute
_UNSUPPORTED_USER_FIELDS = ("as", "as-uid", "as-groups", "as-user-extra")
_AUTH_PROVIDERS = ("oidc", "gcp")
# What the package raises on a file whose parts have the wrong types or lack keys.
_MALFORMED = (KeyError, TypeError, AttributeError, ValueError)


def choose_source(
    kubeconfig: str | None, context: str | None, environ: Mapping[str, str]
) -> Callable[[], LoadedCredential]:
    """The function that reads the credential, chosen by what is named and by what the environment offers."""
    if kubeconfig is not None:
        return partial(read_kubeconfig, [kubeconfig], context)
    if paths := [path for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path]:
        return partial(read_kubeconfig, paths, context)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        if context is not None:
            raise CredentialsError("a context was named, but no kubeconfig: pass --kubeconfig or set KUBECONFIG")
        return partial(read_service_account, environ)
    default = Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"
    if not default.is_file():
        raise CredentialsError(
            f"no cluster to talk to: there is no {default}, KUBECONFIG is not set and this is no pod; pass --kubeconfig"
        )
    return partial(read_kubeconfig, [str(default)], context)


def read_service_account(environ: Mapping[str, str], directory: str | None = None) -> LoadedCredential:
    """The credential that Kubernetes mounts into each pod; its token rotates, so it has to be read again."""
    token_file, ca_file = incluster_config.SERVICE_TOKEN_FILENAME, incluster_config.SERVICE_CERT_FILENAME
    if directory is not None:
        token_file, ca_file = f"{directory}/token", f"{directory}/ca.crt"
    configuration = Configuration()
    loader = incluster_config.InClusterConfigLoader(
        token_filename=token_file, cert_filename=ca_file, try_refresh_token=False, environ=environ
    )
    try:
        loader.load_and_set(configuration)
        return _loaded(configuration, _FILES_READ_AGAIN_SECONDS)
    except (ConfigException, OSError) as error:
        raise CredentialsError(
            f"service account in {Path(token_file).parent}: {error}; "
            "mount it (automountServiceAccountToken) or pass --kubeconfig"
        ) from error


def read_kubeconfig(paths: list[str], context: str | None) -> LoadedCredential:
    """Merges the files as kubectl does and reads the named context, or the current one."""
    shown = ":".join(paths)
    try:
        if not any(Path(path).expanduser().is_file() for path in paths):
            raise CredentialsError(f"kubeconfig {shown}: no such file; check --kubeconfig or KUBECONFIG")
        return _read_merged(shown, context)
    except yaml.YAMLError as error:
        raise CredentialsError(f"kubeconfig {shown} is not YAML: {' '.join(str(error).split())}") from error
    except ConfigException as error:
        raise CredentialsError(f"kubeconfig {shown}: {str(error).strip()}") from error
    except OSError as error:
        raise CredentialsError(f"kubeconfig {shown}: {error}") from error
    except _MALFORMED as error:
        raise CredentialsError(
            f"kubeconfig {shown} is malformed: {type(error).__name__}: {error}; compare with `kubectl config view`"
        ) from error


def _read_merged(shown: str, context: str | None) -> LoadedCredential:
    merger = KubeConfigMerger(shown)
    config = merger.config
    if config is None or not isinstance(config.value, dict):
        raise CredentialsError(f"kubeconfig {shown} holds no configuration")
    name = context or config.value.get("current-context")
    if not name:
        raise CredentialsError(f"kubeconfig {shown} has no current-context; name one with --context or set it")
    known = [entry["name"] for entry in config.value["contexts"]]
    if name not in known:
        raise CredentialsError(f"kubeconfig {shown} has no context `{name}`; it has: {', '.join(known) or 'none'}")

    user, life_seconds = _prepare_user(config, name, shown)
    configuration = Configuration()
    KubeConfigLoader(
        config_dict=config, active_context=name, config_base_path=None, config_persister=partial(_persist, merger)
    ).load_and_set(configuration)
    if "auth-provider" in user:
        life_seconds = _token_life_seconds(configuration, shown)
    if not urlsplit(configuration.host).hostname:
        raise CredentialsError(f"kubeconfig {shown}: the cluster of context `{name}` has no usable `server` URL")
    return _loaded(configuration, life_seconds)


def _prepare_user(config: Any, context: str, shown: str) -> tuple[dict[str, Any], float | None]:
    """Checks the context's user, runs its exec plugin if it has one and puts what that gave in its place.

    Returns the user entry and how many seconds what it holds may be used.
    """
    fields = config["contexts"].get_with_name(context)["context"]
    entry = config["users"].get_with_name(fields.safe_get("user"), safe=True) if fields.safe_get("user") else None
    user = None if entry is None else entry["user"]
    if user is None:
        return {}, None
    if unsupported := [field for field in _UNSUPPORTED_USER_FIELDS if field in user]:
        raise CredentialsError(f"kubeconfig {shown}: impersonation (`{unsupported[0]}`) is not supported; remove it")
    if "auth-provider" in user:
        provider = user["auth-provider"].safe_get("name")
        if provider not in _AUTH_PROVIDERS:
            raise CredentialsError(f"kubeconfig {shown}: auth provider `{provider}` is unknown; use an exec plugin")
    elif "exec" in user and "token" not in user and "tokenFile" not in user:
        cluster = config["clusters"].get_with_name(fields["cluster"])["cluster"]
        return user.value, _run_exec_plugin(user, cluster, shown)
    rotates = any(field in user for field in ("tokenFile", "client-certificate"))
    return user.value, _FILES_READ_AGAIN_SECONDS if rotates else None


def _run_exec_plugin(user: Any, cluster: Any, shown: str) -> float | None:
    # The package's loader runs plugins too, but logs their failure and goes on without a credential.
    command = user["exec"].safe_get("command")
    where = f"kubeconfig {shown}: exec plugin `{command}`"
    directory = str(Path(cluster.path).expanduser().absolute().parent)
    try:
        status = ExecProvider(user["exec"], directory, cluster).run()
    except FileNotFoundError as error:
        raise CredentialsError(f"{where} is not installed or not on PATH") from error
    except (ConfigException, OSError) as error:
        raise CredentialsError(f"{where} failed: {' '.join(str(error).split())}") from error
    if not status.get("token") and not (status.get("clientCertificateData") and status.get("clientKeyData")):
        raise CredentialsError(f"{where} gave neither a token nor a client certificate with its key")
    del user.value["exec"]
    if token := status.get("token"):
        user.value["token"] = token
    if certificate := status.get("clientCertificateData"):
        user.value["client-certificate-data"] = base64.b64encode(certificate.encode()).decode()
        user.value["client-key-data"] = base64.b64encode(status["clientKeyData"].encode()).decode()
    if not status.get("expirationTimestamp"):
        return None
    return datetime.fromisoformat(status["expirationTimestamp"]).timestamp() - time.time()


def _token_life_seconds(configuration: Any, shown: str) -> float | None:
    """How long the ID token that the auth provider gave is good, by its own `exp` claim."""
    header = configuration.api_key.get("BearerToken")
    if header is None:
        raise CredentialsError(f"kubeconfig {shown}: the auth provider gave no token; log in again or use a plugin")
    parts = header.split(".")
    if len(parts) != 3:
        return _FILES_READ_AGAIN_SECONDS
    claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    expires = claims.get("exp", math.inf)
    return None if expires == math.inf else expires - datetime.now(UTC).timestamp()


def _persist(merger: Any) -> None:
    """Writes a renewed OIDC token back to its file, as kubectl does, where that is allowed."""
    try:
        merger.save_changes()
    except OSError as error:
        log.warning("Could not write the renewed token to the kubeconfig", error=str(error))


def _loaded(configuration: Any, life_seconds: float | None) -> LoadedCredential:
    address = urlsplit(configuration.host)
    tls = None
    if address.scheme == "https":
        tls = Tls.read(
            configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file, configuration.verify_ssl
        )
    proxy = configuration.proxy
    is_loopback = address.hostname in ("localhost", "::1") or (address.hostname or "").startswith("127.")
    if proxy and (is_loopback or should_bypass_proxies(configuration.host, configuration.no_proxy or "")):
        proxy = None
    if proxy and is_socks_proxy_url(proxy):
        raise CredentialsError(f"proxy {proxy}: SOCKS is not supported; use an HTTP proxy or none")
    token = configuration.api_key.get("BearerToken")
    return LoadedCredential(
        server=configuration.host.rstrip("/"),
        authorization=None if token is None else token.strip(),
        tls=tls,
        tls_server_name=configuration.tls_server_name,
        proxy=proxy or None,
        life_seconds=life_seconds,
    )
