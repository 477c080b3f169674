"""Kubeconfig files, exec plugins and service accounts as they lie on disk."""

from __future__ import annotations

import base64
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler.client.credential_sources import read_service_account
from scheduler.client.credentials import Credentials, CredentialsError, load_credentials
from tests.controlplane.credentials import Credentials as Certificates

_SERVER = "https://api.test:6443"


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    """A certificate authority and a key pair, as files."""
    return Certificates(tmp_path)


class _Files:
    """Writes kubeconfig files and loads them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "config"

    def write(
        self, user: dict[str, Any] | None, cluster: dict[str, Any] | None = None, name: str = "config", **top: Any
    ) -> Path:
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": _SERVER} | (cluster or {})}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        } | top
        path = self.directory / name
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path

    def write_plugin(self, answer: str, name: str = "plugin") -> dict[str, Any]:
        """An exec plugin that prints `answer` and counts its runs; returns the user entry that calls it."""
        script = self.directory / name
        script.write_text(
            f"import os, pathlib\nruns = pathlib.Path(r'{script}.runs')\n"
            f"number = int(runs.read_text()) + 1 if runs.exists() else 1\nruns.write_text(str(number))\n{answer}\n",
            encoding="utf-8",
        )
        return {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": sys.executable,
                "args": [str(script)],
                "interactiveMode": "Never",
            }
        }

    async def load(self, context: str | None = None, **environ: str) -> Credentials:
        return await load_credentials(str(self.path), context, environ)

    async def fails(self, match: str, context: str | None = None) -> None:
        """Loading fails in one line that matches and names the file."""
        with pytest.raises(CredentialsError, match=match) as caught:
            await self.load(context)
        assert "\n" not in str(caught.value)
        assert str(self.path) in str(caught.value)


@pytest.fixture(autouse=True)
def _no_proxy_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def files(tmp_path: Path) -> _Files:
    """A directory for kubeconfig files."""
    return _Files(tmp_path)


def _exec_credential(status: dict[str, Any]) -> str:
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(json.dumps(answer))}.replace('NUMBER', str(number)))"


async def test_token(files: _Files) -> None:
    """A static token, and the server as it is named."""
    files.write({"token": "abc"}, {"server": _SERVER + "/"})
    credentials = await files.load()
    assert (credentials.server, credentials.authorization()) == (_SERVER, "Bearer abc")
    assert credentials.ssl_context is not None
    assert (credentials.tls_server_name, credentials.proxy) == (None, None)


async def test_plain_http_needs_no_tls(files: _Files) -> None:
    """A server over http has no TLS context, and an absent user no credential."""
    files.write(None, {"server": "http://127.0.0.1:8080"}, users=[])
    credentials = await files.load()
    assert credentials.ssl_context is None
    assert credentials.authorization() is None


async def test_token_file_is_read_again_after_a_refusal(files: _Files) -> None:
    """A token that others rotate in a file is taken up, its line end is not part of it."""
    token = files.directory / "token"
    token.write_text("one\n", encoding="utf-8")
    files.write({"tokenFile": str(token)})
    credentials = await files.load()
    assert credentials.authorization() == "Bearer one"
    token.write_text("two\n", encoding="utf-8")
    credentials._clock = lambda: time.monotonic() + 3600
    assert await credentials.renew_after_refusal("Bearer one")
    assert credentials.authorization() == "Bearer two"


async def test_basic_auth(files: _Files) -> None:
    """User name and password make a Basic header."""
    files.write({"username": "me", "password": "pa:ss"})
    expected = "Basic " + base64.b64encode(b"me:pa:ss").decode()
    assert (await files.load()).authorization() == expected


async def test_client_certificate_from_data_and_renewed_from_files(files: _Files, certificates: Certificates) -> None:
    """A client certificate is loaded from data or files; when the files change a new TLS context takes over."""
    certificate, key = certificates.serving_certificate_file, certificates.serving_key_file
    ca = {"certificate-authority-data": base64.b64encode(certificates.ca_file.read_bytes()).decode()}
    data = {
        "client-certificate-data": base64.b64encode(certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(key.read_bytes()).decode(),
    }
    files.write(data, ca)
    assert (await files.load()).ssl_context is not None

    files.write({"client-certificate": certificate.name, "client-key": key.name}, ca)
    credentials = await files.load()
    before = credentials.ssl_context
    credentials._clock = lambda: time.monotonic() + 3600
    assert not await credentials.renew_after_refusal(None)
    assert credentials.ssl_context is before
    renewed_in = files.directory / "renewed"
    renewed_in.mkdir()
    renewed = Certificates(renewed_in)
    certificate.write_bytes(renewed.serving_certificate_file.read_bytes())
    key.write_bytes(renewed.serving_key_file.read_bytes())
    credentials._clock = lambda: time.monotonic() + 7200
    assert await credentials.renew_after_refusal(None)
    assert credentials.ssl_context is not before


async def test_named_context_and_merged_files(files: _Files) -> None:
    """KUBECONFIG may name several files, which are merged; a context can be chosen by name."""
    files.write({"token": "first"})
    second = files.write(
        {"token": "second"},
        name="second",
        users=[{"name": "u2", "user": {"token": "second"}}],
        contexts=[{"name": "y", "context": {"cluster": "c", "user": "u2"}}],
    )
    environ = {"KUBECONFIG": f"{files.path}:{second}"}
    assert (await load_credentials(context="y", environ=environ)).authorization() == "Bearer second"


async def test_default_places(files: _Files) -> None:
    """Without a name the home directory's config is read, and without that one the way out is named."""
    (files.directory / ".kube").mkdir()
    files.write({"token": "home"}, name=".kube/config")
    assert (await load_credentials(environ={"HOME": str(files.directory)})).authorization() == "Bearer home"
    with pytest.raises(CredentialsError, match=r"no cluster to talk to.*pass --kubeconfig"):
        await load_credentials(environ={"HOME": str(files.directory / "nobody")})


async def test_tls_options(files: _Files) -> None:
    """The server's name can be set and checking switched off."""
    files.write({"token": "t"}, {"tls-server-name": "kubernetes", "insecure-skip-tls-verify": True})
    credentials = await files.load()
    assert credentials.tls_server_name == "kubernetes"
    assert credentials.ssl_context is not None
    assert not credentials.ssl_context.check_hostname


async def test_proxy(files: _Files) -> None:
    """A proxy is used, though never for this machine, and one that we cannot speak to is an error."""
    files.write({"token": "t"}, {"proxy-url": "http://proxy.test:3128"})
    assert (await files.load()).proxy == "http://proxy.test:3128"
    files.write({"token": "t"}, {"proxy-url": "http://proxy.test:3128", "server": "https://127.0.0.1:6443"})
    assert (await files.load()).proxy is None
    files.write({"token": "t"}, {"proxy-url": "socks5://proxy.test:1080"})
    with pytest.raises(CredentialsError, match="SOCKS is not supported; use an HTTP proxy"):
        await files.load()


async def test_proxy_of_the_environment(files: _Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's proxy counts too, with its exceptions."""
    files.write({"token": "t"})
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
    assert (await files.load()).proxy == "http://proxy.test:3128"
    monkeypatch.setenv("NO_PROXY", ".test")
    assert (await files.load()).proxy is None


async def test_exec_plugin_gives_a_token_and_runs_again_when_refused(files: _Files) -> None:
    """The plugin's token is used until it ends or is refused; then the plugin runs again."""
    user = files.write_plugin(_exec_credential({"token": "tNUMBER", "expirationTimestamp": "2999-01-01T00:00:00Z"}))
    files.write(user)
    credentials = await files.load()
    assert credentials.authorization() == "Bearer t1"
    credentials._clock = lambda: time.monotonic() + 3600
    assert await credentials.renew_after_refusal("Bearer t1")
    assert credentials.authorization() == "Bearer t2"


async def test_exec_plugin_gives_a_client_certificate(files: _Files, certificates: Certificates) -> None:
    """A plugin may give a certificate instead of a token."""
    status = {
        "clientCertificateData": certificates.serving_certificate_file.read_text(encoding="ascii"),
        "clientKeyData": certificates.serving_key_file.read_text(encoding="ascii"),
    }
    files.write(files.write_plugin(_exec_credential(status)))
    credentials = await files.load()
    assert credentials.authorization() is None
    assert credentials._tls is not None
    assert credentials._tls.certificate_file is not None


async def test_failing_exec_plugin(files: _Files) -> None:
    """Whatever goes wrong with a plugin is told, with its name."""
    files.write({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin"}})
    await files.fails("exec plugin `no-such-plugin` is not installed or not on PATH")
    files.write(files.write_plugin("import sys; sys.exit('no session\\nlog in first')"))
    await files.fails("exec plugin .* failed: .*no session log in first")
    files.write(files.write_plugin("print('hello')"))
    await files.fails("exec plugin .* failed: .*failed to decode")
    files.write(files.write_plugin(_exec_credential({})))
    await files.fails("gave neither a token nor a client certificate")


def _jwt(expires_at: float) -> str:
    def part(content: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'exp': int(expires_at)})}.c2ln"


async def test_oidc_token_is_used_and_renewed_before_it_ends(files: _Files) -> None:
    """An ID token of an OIDC provider is used; how long, its own claim says."""
    token = _jwt(time.time() + 3600)
    files.write({"auth-provider": {"name": "oidc", "config": {"id-token": token}}})
    credentials = await files.load()
    assert credentials.authorization() == f"Bearer {token}"
    assert credentials._renew_at_seconds is not None
    assert 2700 < credentials._renew_at_seconds - time.monotonic() < 2900


async def test_unusable_users(files: _Files) -> None:
    """What would be passed over in silence is refused by name."""
    files.write({"auth-provider": {"name": "azure", "config": {}}})
    await files.fails("auth provider `azure` is unknown; use an exec plugin")
    files.write({"auth-provider": {"name": "oidc", "config": {"id-token": "no.jwt"}}})
    await files.fails("the auth provider gave no token")
    files.write({"token": "t", "as": "someone"})
    await files.fails(r"impersonation \(`as`\) is not supported")


async def test_unreadable_files(files: _Files) -> None:
    """A file that is missing, no YAML, empty or no kubeconfig gives one clear line."""
    await files.fails("no such file; check --kubeconfig")
    files.path.write_text("a: [b\nc: d", encoding="utf-8")
    await files.fails("is not YAML: .*line 2")
    files.path.write_text("", encoding="utf-8")
    await files.fails("file is empty")
    files.path.write_text("just text", encoding="utf-8")
    await files.fails("malformed|no configuration")
    files.write({"token": "t"}, contexts="x")
    await files.fails("Expected key name")
    files.write({"token": "t"}, clusters=[7])
    await files.fails("is malformed")
    files.write({"token": "t"}, {"server": "nonsense"})
    await files.fails("no usable `server` URL")


async def test_wrong_contexts(files: _Files) -> None:
    """A context that is not there is answered with those that are."""
    files.write({"token": "t"})
    await files.fails("has no context `prod`; it has: x", context="prod")
    files.write({"token": "t"}, None, "config", **{"current-context": ""})
    await files.fails("has no current-context; name one with --context")
    files.write({"token": "t"}, contexts=[{"name": "x", "context": {"cluster": "gone", "user": "u"}}])
    await files.fails("gone")


async def test_bad_certificates(files: _Files, certificates: Certificates) -> None:
    """Certificates that are missing, no PEM, or of another key are told apart."""
    files.write({"token": "t"}, {"certificate-authority": "/nonexistent/ca.crt"})
    await files.fails("/nonexistent/ca.crt")
    files.write({"token": "t"}, {"certificate-authority-data": "bm8gY2VydGlmaWNhdGU="})
    with pytest.raises(CredentialsError, match=r"holds no usable PEM certificate.*certificate-authority-data"):
        await files.load()
    other = files.directory / "note.txt"
    other.write_text("no certificate", encoding="utf-8")
    files.write({"token": "t"}, {"certificate-authority": str(other)})
    with pytest.raises(CredentialsError, match=r"note\.txt holds no usable PEM certificate.*certificate-authority"):
        await files.load()
    files.write(
        {
            "client-certificate": str(certificates.serving_certificate_file),
            "client-key": str(certificates.service_account_key_file),
        }
    )
    with pytest.raises(CredentialsError, match=r"client certificate .* and key .* do not load"):
        await files.load()


def _service_account(directory: Path, certificates: Certificates) -> dict[str, str]:
    (directory / "ca.crt").write_bytes(certificates.ca_file.read_bytes())
    (directory / "token").write_text("sa-token\n", encoding="utf-8")
    return {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}


def test_service_account(tmp_path: Path, certificates: Certificates) -> None:
    """In a pod the mounted token and authority are used, and the token is read again every minute."""
    loaded = read_service_account(_service_account(tmp_path, certificates), str(tmp_path))
    assert loaded.server == "https://[fd00::1]:443"
    assert loaded.authorization is not None
    assert loaded.authorization.lower() == "bearer sa-token"
    assert loaded.life_seconds == 75.0
    assert loaded.tls is not None
    assert loaded.tls.contents == (certificates.ca_file.read_bytes(),)


def test_service_account_that_is_not_mounted(tmp_path: Path, certificates: Certificates) -> None:
    """A pod without its token says what to switch on."""
    environ = _service_account(tmp_path, certificates)
    (tmp_path / "token").unlink()
    with pytest.raises(CredentialsError, match=r"token file does not exist.*automountServiceAccountToken"):
        read_service_account(environ, str(tmp_path))


async def test_a_context_without_a_kubeconfig_makes_no_sense() -> None:
    """In a pod there are no contexts to choose from."""
    with pytest.raises(CredentialsError, match="a context was named, but no kubeconfig"):
        await load_credentials(context="x", environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
