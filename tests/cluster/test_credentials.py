"""The pod's token and CA are followed; a bad moment never costs the last good token (AP-2)."""

import asyncio
import logging
from pathlib import Path

import pytest

from ascend_agent.cluster.credentials import Access, ServiceAccount, Tls, file_mark, read_token
from ascend_agent.errors import ClusterUnreachableError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "ca.crt").write_text("an authority")
    return tmp_path


def account(folder: Path) -> ServiceAccount:
    return ServiceAccount(server="https://10.0.0.1:443", directory=folder)


async def test_token_and_authority_are_those_of_the_pod(folder: Path) -> None:
    """A line end behind the token would make every request an error."""
    source = account(folder)
    access = await source.current()

    assert access.server == "https://10.0.0.1:443"
    assert access.authorization == "Bearer first"
    assert access.tls.authority == str(folder / "ca.crt")
    assert str(folder) in source.origin


async def test_files_are_read_again_once_a_minute_has_passed(folder: Path) -> None:
    source = account(folder)
    before = await source.current()
    (folder / "token").write_text("second")
    (folder / "ca.crt").write_text("another authority")

    await asyncio.sleep(59)
    assert await source.current() == before
    await asyncio.sleep(2)
    after = await source.current()

    assert after.authorization == "Bearer second"
    assert after.tls != before.tls


async def test_a_refused_token_is_read_again_at_once(folder: Path) -> None:
    source = account(folder)
    await source.current()
    (folder / "token").write_text("second")

    assert (await source.renew()).authorization == "Bearer second"
    assert (await source.current()).authorization == "Bearer second"


@pytest.mark.parametrize("content", ["", "\n", "two words", "b\u00e4d", "x" * 70_000, "a\x00b"])
async def test_a_file_without_a_token_leaves_the_last_good_one(
    folder: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    source = account(folder)
    await source.current()
    (folder / "token").write_text(content)

    for _ in range(3):
        assert (await source.renew()).authorization == "Bearer first"

    assert [one.message for one in caplog.records] == ["token file unusable"]


async def test_a_token_that_was_never_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    source = account(tmp_path)
    with pytest.raises(ClusterUnreachableError, match="mount a service account token") as caught:
        await source.current()
    (tmp_path / "token").write_text("late")

    assert str(tmp_path / "token") in str(caught.value)
    assert (await source.current()).authorization == "Bearer late"
    assert (await source.current()).tls == Tls(), "no CA file: the host's authorities decide"


def test_no_token_is_shown() -> None:
    access = Access(server="https://a", authorization="Bearer s3cret", tls=Tls())

    assert "s3cret" not in repr(access)


def test_a_mark_changes_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("one")
    first = file_mark(file)
    file.write_text("two")

    assert first
    assert file_mark(file) not in {first, ""}
    assert file_mark(tmp_path / "none") == ""


def test_a_token_is_read_without_the_blanks_around_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" \t abc.def \r\n")

    assert read_token(tmp_path / "token") == "abc.def"
