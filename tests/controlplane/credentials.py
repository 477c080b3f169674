"""Certificates, keys, users and kubeconfigs of one control plane, as files in its directory."""

import datetime as dt
import ipaddress
import secrets
import ssl
from enum import StrEnum
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.controlplane.ports import LOOPBACK

_ONE_DAY = dt.timedelta(days=1)


class User(StrEnum):
    """Who may call the API server; the value is the name in kubeconfig files."""

    ADMIN = "admin"
    """May do everything (group system:masters)."""
    PODIUM = "podium"
    """An ordinary user without any right until a test grants some."""
    KUBE_SCHEDULER = "kube-scheduler"
    """The peer, with the rights Kubernetes gives to kube-scheduler."""
    CONTROLLER_MANAGER = "kube-controller-manager"
    KWOK = "kwok"
    """Plays all kubelets (group system:masters)."""


# The name and the groups the API server knows each user by.
_IDENTITIES = {
    User.ADMIN: ("admin", "system:masters"),
    User.PODIUM: ("podium", ""),
    User.KUBE_SCHEDULER: ("system:kube-scheduler", ""),
    User.CONTROLLER_MANAGER: ("system:kube-controller-manager", ""),
    User.KWOK: ("kwok", "system:masters"),
}


class Credentials:
    """Everything is made anew, with random tokens, and lives as long as the directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.ca_file = directory / "ca.crt"
        self.serving_certificate_file = directory / "serving.crt"
        self.serving_key_file = directory / "serving.key"
        self.service_account_key_file = directory / "service-account.key"
        self.service_account_public_key_file = directory / "service-account.pub"
        self.token_file = directory / "tokens.csv"
        self._tokens = {user: secrets.token_urlsafe(24) for user in User}
        self._write_certificates()
        self._write_service_account_keys()
        self.token_file.write_text(
            "".join(f'{self._tokens[user]},{name},{name},"{group}"\n' for user, (name, group) in _IDENTITIES.items()),
            encoding="ascii",
        )

    def token(self, user: User) -> str:
        """The bearer token of the user."""
        return self._tokens[user]

    def client_context(self) -> ssl.SSLContext:
        """TLS settings that trust this control plane only."""
        return ssl.create_default_context(cafile=str(self.ca_file))

    def server_context(self) -> ssl.SSLContext:
        """TLS settings of a server on loopback that clients of this control plane trust."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.serving_certificate_file, self.serving_key_file)
        return context

    def write_kubeconfig(self, user: User, url: str, name: str) -> Path:
        """Write `<name>-<user>.kubeconfig`, which reaches `url` as the user."""
        path = self._directory / f"{name}-{user}.kubeconfig"
        cluster = {"server": url}
        if url.startswith("https:"):
            cluster["certificate-authority"] = str(self.ca_file)
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self._tokens[user]}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
            "current-context": name,
        }
        path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2))
        path.chmod(0o600)
        return path

    def _write_certificates(self) -> None:
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "control plane CA")])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
        ca = (
            _certificate_builder(ca_name, ca_name, ca_key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(authority, critical=False)
            .sign(ca_key, hashes.SHA256())
        )
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        alternatives = [
            x509.IPAddress(ipaddress.ip_address(LOOPBACK)),
            x509.DNSName("localhost"),
            x509.DNSName("kubernetes.default.svc"),
        ]
        serving = (
            _certificate_builder(name, ca_name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(authority, critical=False)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(ca_key, hashes.SHA256())
        )
        self.ca_file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
        self.serving_certificate_file.write_bytes(serving.public_bytes(serialization.Encoding.PEM))
        self.serving_key_file.write_bytes(_private_pem(key))

    def _write_service_account_keys(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        self.service_account_key_file.write_bytes(_private_pem(key))
        self.service_account_public_key_file.write_bytes(
            key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificate_builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _ONE_DAY)
        .not_valid_after(now + 365 * _ONE_DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
