"""Where the real programs are, and what a test does without them.

etcd and kube-apiserver come from ``KUBEBUILDER_ASSETS``, the others from
``ASCEND_CLUSTER_ASSETS``, all of them else from the cache that ``tools/cluster_assets.py`` fills;
runc, openssl and the like are the distribution's own. A missing one skips the test with the
command that brings it, and a skip is a failure in CI (``tests/conftest.py``).
"""

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from tools import cluster_assets

# Read on import: a guard hides every KUBE* variable from the tests themselves.
_ENVIRONMENT: Final = dict(os.environ)  # noqa: TID251 -- a convention of the ecosystem, not ours
_PACKAGES: Final = {
    "busybox": "busybox-static",
    "openssl": "openssl",
    "runc": "runc",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}


def program(name: str) -> Path:
    """Return the path of program *name*, or skip the test and say how to get it."""
    if name in _PACKAGES:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed: `apt-get install {_PACKAGES[name]}`")
        return Path(found)
    path = cluster_assets.find(name, _ENVIRONMENT)
    if path is None:
        pytest.skip(f"{name} is not built: `nox -s cluster_assets`")
    return path
