"""Service-account tokens signed by the tests with the cluster's own key.

The API server hands out none that last less than ten minutes, and it takes one for a minute
longer than it lasts, so a test that needs one past its end makes it here.
"""

import base64
import json
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.cluster.programs import program

_HALF = 32  # bytes: P-256's two numbers, which make up a signature of ES256


def signed(claims: dict[str, Any], *, key: Path) -> str:
    """Return a JSON web token of *claims*, signed with the P-256 *key* (RFC 7515, ES256)."""
    head = {"alg": "ES256", "typ": "JWT"}
    text = ".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
    command = [str(program("openssl")), "dgst", "-sha256", "-sign", str(key)]
    made = subprocess.run(command, input=text.encode(), check=True, capture_output=True).stdout
    return f"{text}.{_encoded(_flat(made))}"


def claims(*, issuer: str, namespace: str, name: str, uid: str, lasts_s: float) -> dict[str, Any]:
    """Return what a token of ServiceAccount *name* says that ends in *lasts_s*, or has ended."""
    now = time.time()
    return {
        "iss": issuer,
        "aud": [issuer],
        "sub": f"system:serviceaccount:{namespace}:{name}",
        "iat": int(now - 3600),
        "nbf": int(now - 3600),
        "exp": int(now + lasts_s),
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
    }


def _flat(der: bytes) -> bytes:
    """Return the two numbers of a signature in DER, each in 32 bytes: P-256 needs no long form."""
    numbers, rest = [], der[2:]
    for _ in range(2):
        length = rest[1]
        numbers.append(int.from_bytes(rest[2 : 2 + length], "big").to_bytes(_HALF, "big"))
        rest = rest[2 + length :]
    return b"".join(numbers)


def _encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
