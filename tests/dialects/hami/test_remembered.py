"""What is remembered is bounded by the texts, of which anybody may write as many as he likes."""

import itertools
import threading
from collections import Counter

import pytest

from ascend_agent.dialects.hami.annotation import parse_slots
from ascend_agent.dialects.hami.remembered import LONGEST, MOST, Remembered
from ascend_agent.dialects.hami.runtime_info import parse_runtime_info


class Asked:
    """A function of texts that counts what it is asked."""

    def __init__(self) -> None:
        self.of: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        """Return *text* in capitals; ``bad`` has none."""
        self.of[text] += 1
        if text == "bad":
            raise ValueError(text)
        return text.upper()


def test_a_text_is_looked_into_once() -> None:
    asked = Asked()
    known = Remembered(asked)

    assert [known(text) for text in ("a", "b", "a")] == ["A", "B", "A"]
    assert asked.of == {"a": 1, "b": 1}


def test_what_was_not_asked_for_longest_goes_first() -> None:
    asked = Asked()
    known = Remembered(asked)
    full = [f"{number:0{LONGEST}}" for number in range(MOST // LONGEST - 1)]
    for text in (*full, full[0], "one more" * 4000):
        known(text)
    known(full[0])
    known(full[1])

    assert (asked.of[full[0]], asked.of[full[1]]) == (1, 2)


@pytest.mark.parametrize(("length", "count"), [(1, 9000), (100, 9000), (4096, 300), (LONGEST, 30)])
def test_however_many_texts_there_are_they_take_no_more_room(length: int, count: int) -> None:
    """One pod's annotation may be written anew every few milliseconds, for days."""
    asked = Asked()
    known = Remembered(asked)
    texts = [f"{number:0{length}}" for number in range(count)]

    for text in texts:
        known(text)
    size = known.size
    # From the newest on, for each that is asked for anew drives out the oldest.
    kept = list(itertools.takewhile(lambda text: known(text) and asked.of[text] == 1, texts[::-1]))

    assert len("".join(kept)) + 64 * len(kept) == size <= MOST
    assert 0 < len(kept) < len(texts)


def test_a_text_that_is_too_long_is_not_kept_and_drives_nobody_out() -> None:
    asked = Asked()
    known = Remembered(asked)
    known("a")

    for number in range(600):
        known("x" * (LONGEST + 1 + number))

    assert known("a") == "A"
    assert asked.of["a"] == 1
    assert known.size < LONGEST


def test_what_fails_is_not_kept() -> None:
    asked = Asked()
    known = Remembered(asked)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            known("bad")

    assert asked.of == {"bad": 2}
    assert known.size == 0


def test_two_threads_that_find_the_same_keep_it_once() -> None:
    """The metrics page is made on a thread of its own."""
    both = threading.Barrier(2)
    found = []

    def find(text: str) -> str:
        both.wait(5)
        found.append(text)
        return text

    known = Remembered(find)
    threads = [threading.Thread(target=known, args=("a",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    known("a")

    assert found == ["a", "a"]
    assert known.size == len("a") + 64


@pytest.mark.parametrize("parse", [parse_slots, parse_runtime_info])
def test_annotations_of_pods_are_remembered_so(parse: Remembered[object]) -> None:
    """600 edits of one pod took half a gibibyte, and the agent was killed for its memory."""
    size = parse.size

    parse("\U0001f600" + "x" * 250_000)

    assert parse.size == size <= MOST
