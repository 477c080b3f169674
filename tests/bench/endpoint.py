"""Where the API server is and how to be let in: what the processes of a benchmark are told."""

import ssl

import msgspec


class Endpoint(msgspec.Struct, frozen=True):
    """An API server on this machine, and the identity used there."""

    host: str
    port: int
    token: str
    ca_file: str

    def context(self) -> ssl.SSLContext:
        """TLS settings that trust this API server only."""
        return ssl.create_default_context(cafile=self.ca_file)

    def request_head(self, method: str, target: str, version: str, accept: str) -> str:
        """The first lines of a request, without the empty one that ends them."""
        return (
            f"{method} {target} HTTP/{version}\r\nHost: {self.host}:{self.port}\r\n"
            f"Authorization: Bearer {self.token}\r\nAccept: {accept}\r\n"
        )
