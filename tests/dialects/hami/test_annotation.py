"""Slots keep their places, whoever wrote them and however often they are taken out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.dialects.hami.annotation import (
    BadText,
    SlotDevice,
    first_filled,
    parse_slots,
    place_in,
    without_slot,
)
from ascend_agent.model.ids import DieId
from tests.fakes.hami import device, die


def _device(number: int, memory: int, core: int = 0) -> SlotDevice:
    return SlotDevice(die=die(number), word="Ascend910B3", memory_mib=memory, core_percent=core)


X, Y = device(0, 16384), device(1, 32768)


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("", ()),
        (";", ((),)),
        (f"{X};", ((_device(0, 16384),),)),
        (f"{X}{Y};", ((_device(0, 16384), _device(1, 32768)),)),
        (f";{X};", ((), (_device(0, 16384),))),
        (f"{X};;{Y};", ((_device(0, 16384),), (), (_device(1, 32768),))),
        (f"{X}", ((_device(0, 16384),),)),
        (f"{device(3, 28672, 40)};", ((_device(3, 28672, 40),),)),
        (f"{die(0)},Ascend910B3,16384,0,further,fields:;", ((_device(0, 16384),),)),
        (f"{X};,,0,0:;", ((_device(0, 16384),), ())),
        ("no comma;", ((),)),
        (";;", ((), ())),
    ],
    ids=lambda value: str(value)[:24] if isinstance(value, str) else "",
)
def test_a_text_is_read_as_its_writers_mean_it(
    text: str, slots: tuple[tuple[SlotDevice, ...], ...]
) -> None:
    """Of any scheduler: HAMi 2.4 writes blank devices, and only the last ``;`` opens no slot."""
    assert parse_slots(text) == slots


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (f"{die(0)},Ascend910B3,16384:;", "3 fields"),
        (f"{die(0)},Ascend910B3,16384.5,0:;", "whole number"),
        (f"{die(0)},Ascend910B3,0x10,0:;", "whole number"),
        (f"{die(0)},Ascend910B3,16384,:;", "whole number"),
        (f"{die(0)},Ascend910B3,2147483648,0:;", "whole number"),
        (f"{die(0)},Ascend910B3,{'9' * 5000},0:;", "whole number"),
        (f"{die(0)},Ascend910B3,٣,0:;", "whole number"),
    ],
)
def test_a_device_that_can_not_be_read_is_said(text: str, word: str) -> None:
    found = parse_slots(text)

    assert isinstance(found, BadText)
    assert word in found.detail
    assert len(found.detail) < 200


@pytest.mark.parametrize(
    "text",
    [
        "a,w,1,1:;" * 28_000,
        "a,w,1,1:" * 32_000,
        "," * 262_144,
        ";" * 257,
        "a,w,1,1:" * 257 + ";",
    ],
    ids=["slots", "devices", "fields", "a few slots", "a few devices"],
)
def test_more_than_any_pod_has_is_not_even_looked_into(text: str) -> None:
    """A pod's annotations may have 256 KiB, which would hold up the fault of an NPU."""
    found = parse_slots(text)

    assert isinstance(found, BadText)
    assert "more than" in found.detail
    assert len(found.detail) < 200


def test_sixteen_containers_may_each_have_sixteen_npus() -> None:
    text = f"{''.join(device(number, 65536, 100) for number in range(16))};" * 16

    found = parse_slots(text)

    assert not isinstance(found, BadText)
    assert [len(slot) for slot in found] == [16] * 16


def test_the_meaning_of_a_text_is_found_once() -> None:
    """All pods are looked at whenever one of them changes."""
    text = f"{device(5, 4711)};"

    assert parse_slots(text) is parse_slots("".join(text))


@pytest.mark.parametrize(
    ("text", "index", "left"),
    [
        (f"{X};", 0, ";"),
        (f"{X};{Y};", 0, f";{Y};"),
        (f";{Y};", 1, ";;"),
        (f"{X};;{X};", 0, f";;{X};"),
        (f";;{X};", 2, ";;;"),
        (f"{X};{Y}", 0, f";{Y};"),
        (f"{die(0)},w,1,2,later:;{die(1)},w,1,2,later:;", 0, f";{die(1)},w,1,2,later:;"),
    ],
)
def test_a_slot_is_taken_out_and_the_others_stay_as_written(
    text: str, index: int, left: str
) -> None:
    """HAMi A2: the annotation grew by one ``;`` with each Allocate."""
    assert without_slot(text, index) == left


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["", X, Y, X + Y]), min_size=1, max_size=6))
def test_taking_out_all_slots_leaves_as_many_empty_ones(parts: list[str]) -> None:
    text = "".join(f"{part};" for part in parts)
    while (index := first_filled(_slots(text))) is not None:
        before = _slots(text)
        text = without_slot(text, index)
        assert _slots(text) == (*before[:index], (), *before[index + 1 :])

    assert text == ";" * len(parts)


@settings(max_examples=30, deadline=None)
@given(st.text(alphabet=f";:,{X}", max_size=120))
def test_no_text_is_too_strange_to_be_judged(text: str) -> None:
    found = parse_slots(text)

    assert isinstance(found, BadText | tuple)


def test_a_slot_is_found_at_its_place() -> None:
    allocated = _slots(f"{X};;{X};")

    assert place_in(allocated, _slots(f";;{X};"), 2) == 2
    assert place_in(allocated, allocated, 0) == 0


def test_a_slot_is_found_though_an_older_plugin_dropped_the_empty_ones() -> None:
    """The plugin 1.3.0 wrote what is left without empty slots."""
    allocated = _slots(f"{X};;{Y};")

    assert place_in(allocated, _slots(f"{Y};"), 0) == 2
    assert place_in(_slots(f"{X};{X};"), _slots(f"{X};"), 0) == 1


def test_a_slot_keeps_its_place_though_an_older_plugin_added_empty_ones() -> None:
    """The plugin 1.4.0 added a ``;`` with each Allocate."""
    assert place_in(_slots(f"{X};{X};"), _slots(f";{X};;"), 1) == 1


def test_a_slot_that_was_never_granted_has_no_place() -> None:
    assert place_in(_slots(f"{X};"), _slots(f"{Y};"), 0) is None
    assert place_in((), _slots(f"{Y};"), 0) is None


def _slots(text: str) -> tuple[tuple[SlotDevice, ...], ...]:
    found = parse_slots(text)
    assert not isinstance(found, BadText)
    return found


def test_a_die_is_what_the_scheduler_calls_it() -> None:
    ((found,),) = _slots("GPU-1,word,1,2:;")

    assert found.die == DieId("GPU-1")
