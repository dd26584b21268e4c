"""Who a client says it is, and the kubeconfig that says so."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificate:
    """A certificate and its key, both PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerToken:
    """A token, as it stands."""

    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFile:
    """A token in a file that is replaced from time to time."""

    path: Path


Credential = ClientCertificate | BearerToken | TokenFile


def write_kubeconfig(
    path: Path, *, server: str, authority: Path, credential: Credential, namespace: str = "default"
) -> Path:
    """Write a kubeconfig with one context to *path* and return that."""
    name = "test"
    cluster = {"server": server, "certificate-authority": str(authority)}
    context = {"cluster": name, "user": name, "namespace": namespace}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": _user(credential)}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }
    path.write_text(yaml.safe_dump(document))
    path.chmod(0o600)
    return path


def _user(credential: Credential) -> dict[str, Any]:
    match credential:
        case ClientCertificate(certificate=certificate, key=key):
            return {"client-certificate": str(certificate), "client-key": str(key)}
        case BearerToken(token=token):
            return {"token": token}
        case TokenFile(path=path):
            return {"tokenFile": str(path)}
