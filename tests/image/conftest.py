"""Where the built image is: ``nox -s image`` builds it and says so by ASCEND_IMAGE."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.image.container import Image


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the directory that ``python -m tools.image`` filled."""
    folder = os.environ.get("ASCEND_IMAGE")  # noqa: TID251 -- said by the nox session
    if folder is None:
        pytest.skip("ASCEND_IMAGE names no built image: `nox -s image` builds one and tests it")
    return Path(folder)


@pytest.fixture(scope="session")
def image(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Return a copy of the image to run: a runtime makes the mounts' targets in its root."""
    copy = tmp_path_factory.mktemp("image") / "root"
    subprocess.run([shutil.which("cp") or "cp", "-a", built / "first", copy], check=True)
    return Image(root=copy, config=json.loads((built / "config.json").read_text()))
