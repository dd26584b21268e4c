"""How a check asks its node."""

from pathlib import Path
from threading import Event

import pytest

from tests.doctor.scene import place


async def test_a_file_system_that_hangs_costs_the_deadline_alone(tmp_path: Path) -> None:
    """A hung mount must not hold the loop, nor the checks of other places."""
    never = Event()
    where = place(tmp_path, deadline_s=0.05)

    with pytest.raises(TimeoutError):
        await where.off_loop(never.wait)
    assert await place(tmp_path).off_loop(lambda: 7) == 7
    never.set()


def test_a_path_of_the_host_lies_below_its_root(tmp_path: Path) -> None:
    assert place(tmp_path).on_host("/etc/docker") == tmp_path / "etc/docker"


def test_a_link_of_the_host_is_followed_as_the_host_does(tmp_path: Path) -> None:
    """Distributions link their runtime's configuration; in a pod it would lead to our own root."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/containerd").symlink_to("/opt/containerd")

    assert place(tmp_path).on_host("/etc/containerd/config.toml") == (
        tmp_path / "opt/containerd/config.toml"
    )
