"""No buffer of the binding is too short for what the vendor's library writes.

The fake writes every structure in full size; built with AddressSanitizer it stops the process at
the first byte beyond a caller's buffer. Python's own allocator would hide that, so it is off.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_dcmi import build
from tests.fake_dcmi.sanitized import MISTAKES

pytestmark = [pytest.mark.peer, pytest.mark.slow]

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the fake library with AddressSanitizer."""
    return build.build(tmp_path_factory.mktemp("asan"), sanitize=True)


def run(library: Path, what: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run the program with the sanitizer's runtime loaded first."""
    runtime = build.sanitizer_runtime()
    if runtime is None:
        pytest.skip("gcc has no AddressSanitizer here (package libasan8)")
    return subprocess.run(
        [sys.executable, "-m", "tests.fake_dcmi.sanitized", library, what],
        cwd=_ROOT,
        env={
            "LD_PRELOAD": str(runtime),
            "PYTHONMALLOC": "malloc",
            "ASAN_OPTIONS": "detect_leaks=0:exitcode=99",
            "TMPDIR": str(tmp_path),
        },
        check=False,
        capture_output=True,
        text=True,
    )


def test_every_operation_on_every_chip_stays_within_its_buffers(
    library: Path, tmp_path: Path
) -> None:
    """With 64 processes and 128 codes on each NPU: the longest lists there are."""
    done = run(library, "every-operation", tmp_path)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_buffer_that_is_too_short_is_caught(library: Path, tmp_path: Path, mistake: str) -> None:
    """Else the test above could not fail."""
    done = run(library, mistake, tmp_path)

    assert done.returncode == 99
    assert "heap-buffer-overflow" in done.stderr
