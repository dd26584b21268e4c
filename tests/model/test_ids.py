import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.model.ids import (
    DeviceName,
    PhyId,
    ResourceName,
    format_device_name,
    format_device_names,
    parse_device_name,
    parse_device_number,
    parse_device_word,
)

WORDS = st.sampled_from(["Ascend310", "Ascend310P", "Ascend910", "npu"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (DeviceName("Ascend910", PhyId(7), None), "Ascend910-7"),
        (DeviceName("npu", PhyId(0), None), "npu-0"),
        (DeviceName("Ascend310P", PhyId(0), 4), "Ascend310P-0-4"),
        (DeviceName("Ascend910", PhyId(15), 99), "Ascend910-15-99"),
    ],
)
def test_a_device_is_named_as_mindcluster_names_it(name: DeviceName, text: str) -> None:
    assert format_device_name(name) == text


@settings(deadline=None)
@given(WORDS, st.integers(0, 255), st.integers(1, 100), st.data())
def test_parse_undoes_format(word: str, phy: int, shares: int, data: st.DataObject) -> None:
    share = None if shares == 1 else data.draw(st.integers(0, shares - 1))
    name = DeviceName(word, PhyId(phy), share)

    assert parse_device_name(format_device_name(name), word=word, shares=shares) == name


@settings(deadline=None)
@given(WORDS, st.integers(0, 255), st.integers(1, 100))
def test_the_names_of_an_npu_are_those_of_its_shares(word: str, phy: int, shares: int) -> None:
    singly = [None] if shares == 1 else range(shares)

    names = format_device_names(word=word, phy=PhyId(phy), shares=shares)

    assert list(names) == [
        format_device_name(DeviceName(word, PhyId(phy), share)) for share in singly
    ]


@settings(deadline=None)
@given(st.text("0123456789-+ x\u0663", max_size=6), st.integers(1, 100))
def test_a_text_that_parses_is_the_one_that_is_formatted(tail: str, shares: int) -> None:
    """Two texts never mean one device: the kubelet compares texts."""
    text = f"npu-{tail}"

    name = parse_device_name(text, word="npu", shares=shares)

    assert name is None or format_device_name(name) == text


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("", 1),
        ("Ascend910", 1),
        ("Ascend910-", 1),
        ("Ascend910--1", 1),
        ("Ascend910-x", 1),
        ("Ascend910-01", 1),  # not canonical
        ("Ascend910-1 ", 1),
        ("Ascend910-+1", 1),
        ("Ascend910-\u0661", 1),  # a digit, but not ASCII
        ("Ascend910-\u00b2", 1),  # isdigit, yet no number
        ("ascend910-1", 1),
        ("Ascend910B-1", 1),
        ("xAscend910-1", 1),
        ("Ascend910-1-0", 1),  # a share where NPUs are whole
        ("Ascend910-1", 4),  # whole where NPUs are shared
        ("Ascend910-1-4", 4),  # one share too far
        ("Ascend910-1-01", 4),
        ("Ascend910-1-2-3", 4),
        ("Ascend910-2c-100-0", 4),
        ("Ascend910-" + "9" * 5000, 1),  # beyond what int() takes
    ],
)
def test_what_is_no_name_of_the_resource_is_not_parsed(text: str, shares: int) -> None:
    assert parse_device_name(text, word="Ascend910", shares=shares) is None


@pytest.mark.parametrize(
    ("resource", "word"),
    [("huawei.com/Ascend910", "Ascend910"), ("huawei.com/npu", "npu"), ("plain", "plain")],
)
def test_the_word_is_what_follows_the_domain(resource: str, word: str) -> None:
    assert parse_device_word(ResourceName(resource)) == word


@pytest.mark.parametrize(
    ("text", "phy"),
    [
        ("Ascend910-4", 4),
        ("npu-15", 15),
        ("my-own-prefix-0", 0),
        ("Ascend910-2c-100-3", 3),
        ("x-007", 7),
    ],
)
def test_a_name_in_any_spelling_ends_in_its_npu(text: str, phy: int) -> None:
    """Faults D36: names with a prefix of the operator's own were not recognised."""
    assert parse_device_number(text) == phy


@pytest.mark.parametrize(
    "text", ["", "4", "npu", "npu-", "npu-x", "npu-\u0664", "n-" + "1" * 60, "n-1234567"]
)
def test_a_text_without_a_number_names_no_npu(text: str) -> None:
    assert parse_device_number(text) is None
