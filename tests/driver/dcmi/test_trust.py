"""Who could change what lies at a path: everything on the way counts, links' own ways included."""

import os
from pathlib import Path

import pytest

from ascend_agent.driver.dcmi import trust
from tests.driver.dcmi.host import Host


def check(host: Host, path: str, *, allow_unsafe: bool = False) -> str:
    return trust.check(path, allow_unsafe=allow_unsafe, lstat=host.lstat)


def refusal(host: Host, path: str, *, allow_unsafe: bool = False) -> str:
    with pytest.raises(trust.RefusedError) as caught:
        check(host, path, allow_unsafe=allow_unsafe)
    return str(caught.value)


def test_a_file_of_root_in_directories_of_root_is_trusted(host: Host) -> None:
    path = host.file("driver/lib64/libdcmi.so")

    assert check(host, path) == path


def test_a_link_is_followed_and_the_file_itself_is_named(host: Host) -> None:
    """What is loaded is what was checked."""
    path = host.file("driver/lib64/libdcmi.so")
    link = host.link("usr/lib/libdcmi.so", path)

    assert check(host, link) == path


def test_relative_links_and_dots_lead_where_the_kernel_goes(host: Host) -> None:
    path = host.file("driver/v2/libdcmi.so")
    host.link("driver/current", "v2/.")
    link = host.link("usr/lib/libdcmi.so", "../../driver/current/../v2/libdcmi.so")

    assert check(host, link) == path


@pytest.mark.parametrize(
    ("place", "what", "remedy"),
    [
        ("driver/libdcmi.so", "file", "chown root:root"),
        ("driver", "directory", "chown root:root"),
        ("usr/libdcmi.so", "link", "chown -h root:root"),
        ("usr", "directory", "chown root:root"),
    ],
)
def test_a_foreign_owner_anywhere_on_either_way_refuses(
    host: Host, place: str, what: str, remedy: str
) -> None:
    """Peers leave the parents of the link unchecked; whoever owns one can swap the link."""
    link = host.link("usr/libdcmi.so", host.file("driver/libdcmi.so"))
    host.owned(place, 1000)

    said = refusal(host, link)

    culprit = host.root / place
    assert f"the {what} {culprit} belongs to uid 1000, not to root" in said
    assert f"{remedy} {culprit}" in said
    assert "--allow-unsafe-library" in said


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
@pytest.mark.parametrize("place", ["driver/libdcmi.so", "driver", "usr"])
def test_write_access_for_group_or_others_on_either_way_refuses(
    host: Host, place: str, mode: int
) -> None:
    link = host.link("usr/libdcmi.so", host.file("driver/libdcmi.so"))
    host.mode(place, mode)

    said = refusal(host, link)

    culprit = host.root / place
    assert f"{culprit} can be written by group or others (mode {mode:04o})" in said
    assert f"chmod go-w {culprit}" in said


def test_the_directory_between_two_links_counts_too(host: Host) -> None:
    """A link may lead to a link: the one in the middle decides as well."""
    middle = host.link("middle/libdcmi.so", host.file("driver/libdcmi.so"))
    link = host.link("usr/libdcmi.so", middle)
    host.mode("middle", 0o777)

    assert f"the directory {host.root / 'middle'} can be written" in refusal(host, link)


def test_the_mode_of_a_link_itself_means_nothing(host: Host) -> None:
    """Every link shows 0777."""
    link = host.link("usr/libdcmi.so", host.file("driver/libdcmi.so"))
    host.mode("usr/libdcmi.so", 0o777)

    assert check(host, link) == str(host.root / "driver/libdcmi.so")


def test_unsafe_forgives_owners_and_modes(host: Host) -> None:
    """A library under test belongs to whoever built it."""
    link = host.link("usr/libdcmi.so", host.file("driver/libdcmi.so"))
    for place in ("usr", "usr/libdcmi.so", "driver", "driver/libdcmi.so"):
        host.owned(place, 1000)
    host.mode("driver", 0o777)

    assert check(host, link, allow_unsafe=True) == str(host.root / "driver/libdcmi.so")


def test_unsafe_forgives_nothing_else(host: Host) -> None:
    host.file("driver/file")

    assert "is not a plain file" in refusal(host, str(host.root / "driver"), allow_unsafe=True)


def test_a_link_that_leads_nowhere_says_where_it_stops(host: Host) -> None:
    link = host.link("usr/libdcmi.so", str(host.root / "gone/libdcmi.so"))

    assert f"No such file or directory: {host.root / 'gone'}" in refusal(host, link)


def test_a_link_in_a_circle_is_refused(host: Host) -> None:
    link = host.link("usr/libdcmi.so", "libdcmi.so")

    assert "too many links" in refusal(host, link)


@pytest.mark.parametrize(("levels", "accepted"), [(19, True), (20, False)])
def test_twenty_levels_are_too_deep(host: Host, levels: int, *, accepted: bool) -> None:
    """The resolved path counts: a link does not make it shorter."""
    above = str(host.root).count("/")
    parts = [f"d{number}" for number in range(levels - above - 1)]
    link = host.link("libdcmi.so", host.file("/".join([*parts, "libdcmi.so"])))

    if accepted:
        assert check(host, link).count("/") == levels
    else:
        assert "20 or more levels deep" in refusal(host, link)


def test_the_real_file_system_is_what_is_asked_without_a_host(tmp_path: Path) -> None:
    """A temporary directory lies below one that everybody may write."""
    path = tmp_path / "libdcmi.so"
    path.write_text("")
    path.chmod(0o666)
    if os.getuid() != 0:
        path.parent.chmod(0o777)

    with pytest.raises(trust.RefusedError):
        trust.check(str(path), allow_unsafe=False)
