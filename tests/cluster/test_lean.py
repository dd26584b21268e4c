"""The client library costs what its few used parts cost (design D13)."""

import json
import subprocess
import sys

import pytest

from ascend_agent.cluster.lean import load_library

pytestmark = pytest.mark.peer

_CHILD = """
import json, sys
{before}
from ascend_agent.cluster.lean import load_library
names = len(sys.modules)
library = load_library(kubeconfig={kubeconfig})
again = load_library(kubeconfig={kubeconfig})
print(json.dumps({{
    "modules": sorted(sys.modules),
    "same": library.api_client is again.api_client,
    "reader": library.kubeconfig is not None,
}}))
"""


def run(*, kubeconfig: bool, before: str = "") -> dict[str, object]:
    code = _CHILD.format(kubeconfig=kubeconfig, before=before)
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    told: dict[str, object] = json.loads(ran.stdout)
    return told


@pytest.mark.parametrize("kubeconfig", [False, True])
def test_a_few_hundred_modules_come_and_no_model(*, kubeconfig: bool) -> None:
    """The package's own __init__ files would import 1,500 models: 1.8 s and 60 MiB."""
    told = run(kubeconfig=kubeconfig)
    modules = told["modules"]

    assert isinstance(modules, list)
    assert len(modules) < 450
    assert not [name for name in modules if name.startswith("kubernetes_asyncio.client.models.")]
    assert told["same"]
    assert told["reader"] is kubeconfig


def test_naming_the_connection_imports_no_http_client() -> None:
    """Whoever wires the agent would pay for it before the kubelet is served."""
    code = "import sys, ascend_agent.cluster.connection; print('aiohttp' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert ran.stdout.strip() == "False"


def test_a_package_that_is_loaded_already_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_library(kubeconfig=True)

    assert load_library(kubeconfig=True) == first
    assert "kubernetes_asyncio" in sys.modules
