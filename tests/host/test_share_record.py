"""Which flags are ours is known after a restart, or none is."""

import json
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.share_record import SHARES, FileShareRecord, format_dies, parse_dies
from ascend_agent.host.state_file import LocalStateFile
from ascend_agent.model.ids import DieId

A, B = DieId("0A1B-1"), DieId("0A1B-2")


def record(directory: Path) -> FileShareRecord:
    return FileShareRecord(LocalStateFile(directory=directory, name=SHARES))


async def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    assert await record(tmp_path).read() == frozenset()

    await record(tmp_path).write({B, A})
    assert await record(tmp_path).read() == {A, B}

    await record(tmp_path).write(())
    assert await record(tmp_path).read() == frozenset()


def test_the_order_of_dies_does_not_show() -> None:
    assert format_dies([B, A]) == format_dies([A, B])


@pytest.mark.parametrize(
    "change",
    [
        {"dies": [A]},
        {"dies": "x"},
        {"dies": [1]},
        {"dies": [""]},
        {"dies": ["x" * 101]},
        {"dies": ["x"] * 4097},
        {"format": 2},
        {"sha256": "0"},
        {"more": 1},
    ],
)
def test_what_is_not_as_it_was_written_is_damaged(change: dict[str, object]) -> None:
    document = json.loads(format_dies([A, B])) | change

    with pytest.raises(ValueError, match=r"not |no serial"):
        parse_dies(json.dumps(document))


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "null", '{"dies": []}'])
def test_what_is_no_record_is_damaged(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_dies(text)


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


@pytest.mark.parametrize("content", [b"{}", b"\xff"])
async def test_a_damaged_record_is_set_aside_and_names_none(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """What was switched on then stays so, which harms nobody."""
    (tmp_path / SHARES).write_bytes(content)

    assert await record(tmp_path).read() == frozenset()

    assert names(tmp_path) == ["shares.json.damaged-1"]
    assert caplog.messages == ["share record damaged"]


async def test_a_record_that_can_not_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with pytest.raises(HostError, match="could not be read"):
        await record(tmp_path / "state").read()


async def test_a_record_never_grows_beyond_what_is_read_again(tmp_path: Path) -> None:
    await record(tmp_path).write([DieId(f"{number:05}") for number in range(5000)])

    assert len(await record(tmp_path).read()) == 4096
