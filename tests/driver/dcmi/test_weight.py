"""What the binding costs the worker, which lives on every node."""

import subprocess
import sys

import pytest

FORBIDDEN = (
    "asyncio",
    "dataclasses",
    "enum",
    "logging",
    "pathlib",
    "re",
    "subprocess",
    "typing",
    "ascend_agent.errors",
    "ascend_agent.interfaces",
    "ascend_agent.model",
)


@pytest.mark.peer
def test_the_binding_imports_nothing_heavy() -> None:
    """The worker's budget is 12 MiB, the interpreter included (design: the driver's process)."""
    program = "import sys, ascend_agent.driver.dcmi.backend as _; print(*sys.modules)"

    shown = subprocess.run(
        (sys.executable, "-c", program), check=True, capture_output=True, text=True, env={}
    )

    loaded = shown.stdout.split()
    assert "ascend_agent.driver.dcmi.abi" in loaded
    assert [module for module in FORBIDDEN if module in loaded] == []
