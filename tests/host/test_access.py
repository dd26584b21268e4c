import errno
import os
from pathlib import Path

import pytest

from ascend_agent.host.access import explain_refusal


def error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def test_a_refusal_names_owner_mode_label_and_remedy(tmp_path: Path) -> None:
    """PM-1: one text from which an operator knows what to change."""
    tmp_path.chmod(0o750)

    text = explain_refusal(tmp_path, error(errno.EACCES))

    owner = f"{os.geteuid()}:{os.getegid()}"
    assert text.startswith(
        f"{tmp_path}: Permission denied ({tmp_path} is drwxr-x---, owner {owner}, "
    )
    assert "SELinux label" in text
    assert f"; we are {owner})" in text
    assert text.endswith(
        "run the agent as root and privileged, or allow it in the node's SELinux or AppArmor policy"
    )


def test_of_a_path_that_can_not_be_seen_the_part_above_it_is_described(tmp_path: Path) -> None:
    text = explain_refusal(tmp_path / "no" / "such", error(errno.EPERM))

    assert f"({tmp_path} is d" in text


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.EROFS, "Read-only file system; mount it writable"),
        (errno.ENOSPC, "No space left on device; free space or inodes"),
        (errno.EDQUOT, "Disk quota exceeded; free space or inodes there, or raise the quota"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_other_failures_are_said_shortly(tmp_path: Path, code: int, remedy: str) -> None:
    text = explain_refusal(tmp_path, error(code))

    assert text.startswith(f"{tmp_path}: {remedy}")
    assert "owner" not in text


def test_an_error_without_a_text_of_the_system_still_says_something(tmp_path: Path) -> None:
    assert explain_refusal(tmp_path, OSError("odd")) == f"{tmp_path}: odd"


def test_a_selinux_label_is_shown_where_the_file_has_one(tmp_path: Path) -> None:
    try:
        os.setxattr(tmp_path, "security.selinux", b"system_u:object_r:container_file_t:s0\0")
    except OSError:
        pytest.skip("only root may label a file, and not on every file system")

    text = explain_refusal(tmp_path, error(errno.EACCES))

    assert ", SELinux label system_u:object_r:container_file_t:s0; we are" in text
