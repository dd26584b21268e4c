"""A long answer is read as a short one would be, and holds nobody up."""

import asyncio
import json

import pytest

from ascend_agent.cluster.pieces import parse_in_pieces

PAD = "x" * 200_000
ITEM: dict[str, object] = {
    "metadata": {"name": 'a]b}"\\,', "labels": {"ä": "\u2028"}},
    "n": [1.5, None, True, []],
}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"items": []},
        {"items": [ITEM] * 3, "metadata": {"resourceVersion": "1"}},
        {"kind": PAD, "items": [], "more": [[1], [], {}]},
        {"kind": "PodList", "items": [{**ITEM, "pad": PAD}] * 3, "metadata": {"continue": ""}},
        {"items": {"a": PAD}, "": 1},
        {"a": PAD, "b": None},
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
async def test_long_and_short_are_read_alike(document: object, indent: int | None) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=indent is None).encode()

    assert await parse_in_pieces(text) == document
    assert await parse_in_pieces(b" \n" + text + b"\r\n\t") == document


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"items": [1, 2',
        '{"items": [1, 2]',
        '{"items": [1 2]}',
        '{"items": [1,]}',
        '{"items": [,]}',
        '{"items": [1]},',
        '{"items": [1]} {}',
        '{"items" [1]}',
        '{"items": [1] "a": 1}',
        '{"items": [1],}',
        "{1: 2}",
        '{"items": [1], "a"}',
        '{"a": ' + "[" * 200_000,
        '{"items": [' + "[" * 200_000,
    ],
)
@pytest.mark.parametrize("pad", [b"", b" " * 200_000])
async def test_what_is_no_json_is_refused_alike(text: str, pad: bytes) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Illegal|missing|no text|more than|Extra|deep"):
        await parse_in_pieces(pad + text.encode())


async def test_text_that_is_no_utf_8_is_refused() -> None:
    with pytest.raises(ValueError, match="decode"):
        await parse_in_pieces(b'{"a": "' + b"\xff" * 200_000 + b'"}')


async def test_others_have_their_turn_while_a_long_list_is_read() -> None:
    """A fault's way to the kubelet is on the same loop."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    text = json.dumps({"items": [{"pad": PAD}] * 40}).encode()
    counting = asyncio.get_running_loop().create_task(count())
    found = await parse_in_pieces(text)
    counting.cancel()

    assert isinstance(found, dict)
    assert turns >= 40
