"""How to reach the API server and as whom; read through the official `kubernetes` package.

What is read, in this order: the kubeconfig that was named, the files in `KUBECONFIG`, the pod's service account,
`~/.kube/config`. Tokens (static, token files, OIDC, exec plugins), client certificates and basic auth are understood;
what the package would pass over in silence (impersonation, unknown auth providers, a failing exec plugin) is an error.

A credential that ends is renewed in a thread when four fifths of its life are over; files that others rotate are read
again every minute. Until the new one is there calls go out with the old one: none waits for a renewal, except one that
was answered 401.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

_RETRY_SECONDS = 10.0
_RENEWAL_TIMEOUT_SECONDS = 60.0
_SHORTEST_LIFE_SECONDS = 10.0


class CredentialsError(Exception):
    """The API server cannot be addressed: one line that names the cause and the way out."""


@dataclass(frozen=True, slots=True)
class Tls:
    """What a TLS context is made of, as bytes and paths, so that a change of the files can be seen."""

    ca_file: str | None
    certificate_file: str | None
    key_file: str | None
    verify: bool
    contents: tuple[bytes, ...]

    @classmethod
    def read(cls, ca_file: str | None, certificate_file: str | None, key_file: str | None, verify: bool) -> Tls:
        """Reads the files; raises OSError."""
        files = (name for name in (ca_file, certificate_file, key_file) if name)
        contents = tuple(Path(name).read_bytes() for name in files)
        return cls(ca_file, certificate_file, key_file, verify, contents)

    def context(self) -> ssl.SSLContext:
        """A client context which trusts `ca_file` only (the system's authorities if there is none)."""
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except ssl.SSLError as error:
            raise CredentialsError(
                f"certificate authority {self.ca_file} holds no usable PEM certificate ({error}); "
                "correct `certificate-authority` or `certificate-authority-data`"
            ) from error
        # Cluster authorities made by kubeadm and others lack extensions that the strict mode asks for.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.set_alpn_protocols(["http/1.1"])
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_file is not None:
            try:
                # Without a password given OpenSSL would ask for one on the terminal.
                context.load_cert_chain(self.certificate_file, self.key_file, password="")
            except ssl.SSLError as error:
                raise CredentialsError(
                    f"client certificate {self.certificate_file} and key {self.key_file} do not load ({error}); "
                    "they must be PEM, belong together and have no passphrase"
                ) from error
        return context


@dataclass(frozen=True, slots=True)
class LoadedCredential:
    """One reading of the sources. `life_seconds` is how long it may be used, None for as long as it is accepted."""

    server: str
    authorization: str | None
    tls: Tls | None
    tls_server_name: str | None
    proxy: str | None
    life_seconds: float | None


class Credentials:
    """The server's address and the credential that is valid now.

    `server` is the base URL without a trailing slash, `tls_server_name` the name its certificate must have where that
    is not the URL's, `proxy` the URL of an HTTP proxy to go through. `ssl_context` is None for plain http; it is
    replaced as a whole when its certificates are renewed.
    """

    def __init__(
        self,
        read: Callable[[], LoadedCredential],
        first: LoadedCredential,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = first.server
        self.tls_server_name = first.tls_server_name
        self.proxy = first.proxy
        self.ssl_context: ssl.SSLContext | None = None
        self._read = read
        self._clock = clock
        self._tls: Tls | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._renew_at_seconds: float | None = None
        self._take(first, None if first.tls is None else first.tls.context())

    def authorization(self) -> str | None:
        """The Authorization header's value for a call made now, None if the client certificate is all there is.

        Called before each request, on the loop. Starts a renewal in the background when one is due.
        """
        if self._renew_at_seconds is not None and self._clock() >= self._renew_at_seconds:
            self._start_renewal()
        return self._authorization

    async def renew_after_refusal(self, refused: str | None) -> bool:
        """Called after a 401 to a call that carried `refused`; True if it is worth trying again with what is there now.

        Sources are read at most once in ten seconds, however many calls are refused meanwhile.
        """
        if self._authorization != refused:
            return True
        context = self.ssl_context
        if self._renewal is None and self._clock() < self._read_at_seconds + _RETRY_SECONDS:
            return False
        try:
            async with asyncio.timeout(_RENEWAL_TIMEOUT_SECONDS):
                await asyncio.shield(self._start_renewal())
        except TimeoutError:
            log.warning("Renewing the credential takes too long", seconds=_RENEWAL_TIMEOUT_SECONDS)
        return self._authorization != refused or self.ssl_context is not context

    def _start_renewal(self) -> asyncio.Task[None]:
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renew(), name="credential renewal")
        return self._renewal

    async def _renew(self) -> None:
        try:
            loaded, context = await asyncio.to_thread(self._read_changed)
        except (CredentialsError, OSError) as error:
            log.warning("Could not renew the credential, going on with the old one", error=str(error))
            self._read_at_seconds = self._clock()
            self._renew_at_seconds = self._read_at_seconds + _RETRY_SECONDS
        else:
            self._take(loaded, context)
        finally:
            self._renewal = None

    def _read_changed(self) -> tuple[LoadedCredential, ssl.SSLContext | None]:
        loaded = self._read()
        if loaded.tls is None or loaded.tls == self._tls:
            return loaded, self.ssl_context
        return loaded, loaded.tls.context()

    def _take(self, loaded: LoadedCredential, context: ssl.SSLContext | None) -> None:
        self._authorization = loaded.authorization
        self._tls = loaded.tls
        self.ssl_context = context
        self._read_at_seconds = self._clock()
        self._renew_at_seconds = None
        if loaded.life_seconds is not None:
            self._renew_at_seconds = self._read_at_seconds + max(0.8 * loaded.life_seconds, _SHORTEST_LIFE_SECONDS)


async def load_credentials(
    kubeconfig: str | None = None, context: str | None = None, environ: Mapping[str, str] = os.environ
) -> Credentials:
    """Finds and reads the credential, once, at start-up; raises CredentialsError.

    `kubeconfig` is a path, `context` the name of one of its contexts (None for its current one).
    """

    def load() -> Credentials:
        from scheduler.client.credential_sources import choose_source

        read = choose_source(kubeconfig, context, environ)
        return Credentials(read, read())

    return await asyncio.to_thread(load)
