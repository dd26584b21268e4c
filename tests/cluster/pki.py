"""The certificates and keys of one test cluster, made by the openssl program.

openssl is on every Debian that can reach a package archive, so the tests need no library for it.
Keys are P-256: made in milliseconds, and taken by the API server for service-account tokens too.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.credentials import ClientCertificate
from tests.cluster.programs import program

# Extensions spelled out: Python 3.13 refuses chains that lack what RFC 5280 asks of them.
_CONFIGURATION: Final = """\
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, digitalSignature, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = IP:127.0.0.1, DNS:localhost, DNS:kubernetes.default.svc
[client]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""
_CURVE: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pki:
    """An authority, the API server's certificate, and the key that signs tokens."""

    folder: Path

    @property
    def authority(self) -> Path:
        """Return the certificate that clients and servers of the cluster trust."""
        return self.folder / "ca.crt"

    @property
    def server(self) -> ClientCertificate:
        """Return what the API server, or a fault proxy in its place, shows to clients."""
        return ClientCertificate(
            certificate=self.folder / "server.crt", key=self.folder / "server.key"
        )

    @property
    def token_key(self) -> Path:
        """Return the private key of service-account tokens."""
        return self.folder / "tokens.key"

    @property
    def token_check(self) -> Path:
        """Return the public key of service-account tokens."""
        return self.folder / "tokens.pub"

    def make(self) -> None:
        """Make everything but the clients' certificates; raises CalledProcessError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "openssl.cnf").write_text(_CONFIGURATION)
        self._certificate("ca", subject="/CN=test-cluster", kind="authority")
        self._certificate("server", subject="/CN=kube-apiserver", kind="server")
        curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
        self._openssl("genpkey", *curve, "-out", str(self.token_key))
        self._openssl("pkey", "-in", str(self.token_key), "-pubout", "-out", str(self.token_check))

    def client(self, user: str, *, groups: tuple[str, ...] = ()) -> ClientCertificate:
        """Return a new client certificate for *user*, whom the API server takes at their word."""
        name = f"client-{len(list(self.folder.glob('client-*.crt')))}"
        subject = "".join(f"/O={_escaped(group)}" for group in groups) + f"/CN={_escaped(user)}"
        self._certificate(name, subject=subject, kind="client")
        return ClientCertificate(
            certificate=self.folder / f"{name}.crt", key=self.folder / f"{name}.key"
        )

    def _certificate(self, name: str, *, subject: str, kind: str) -> None:
        files = ("-keyout", f"{name}.key", "-out", f"{name}.crt")
        signed = () if kind == "authority" else ("-CA", "ca.crt", "-CAkey", "ca.key")
        what = ("-config", "openssl.cnf", "-extensions", kind, "-days", "30", "-subj", subject)
        self._openssl("req", "-x509", *_CURVE, *signed, *what, *files)

    def _openssl(self, *arguments: str) -> None:
        command = [str(program("openssl")), *arguments]
        ran = subprocess.run(command, cwd=self.folder, check=False, capture_output=True, text=True)
        if ran.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {ran.stderr}")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("/", "\\/")
