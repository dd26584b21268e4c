"""Isolation in MindCluster's texts."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.persisted import Saved, format_document, parse_document
from ascend_agent.faults.published import (
    PublishedReasons,
    SeparatedList,
    format_reasons,
    format_separated,
    parse_reasons,
    parse_separated,
    rebuild,
    separated,
)
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Isolation, NpuIsolation, Upgrade, UpgradeKind

MANUAL = FaultLevel.MANUALLY_SEPARATE_NPU
NAMES = {PhyId(n): f"Ascend910-{n}" for n in range(16)}
LINK_DOWN = Upgrade(
    code=FaultCode(0x81078603),
    level=FaultLevel.PRE_SEPARATE_NPU,
    kind=UpgradeKind.DURATION,
    at_ms=Millis(1_700_000_020_000),
)
RESET = Upgrade(
    code=FaultCode(0x80E18005),
    level=MANUAL,
    kind=UpgradeKind.FREQUENCY,
    at_ms=Millis(1_700_007_200_000),
)
UNEXPLAINED = Upgrade(code=None, level=MANUAL, kind=UpgradeKind.AUTOFILL, at_ms=Millis(7))
EXAMPLE = (
    '{"Ascend910-0":[{"upgrade_time":1700000020000,"fault_code":"81078603",'
    '"fault_level":"PreSeparateNPU","upgrade_type":"FaultDuration"}],'
    '"Ascend910-4":[{"upgrade_time":1700007200000,"fault_code":"80e18005",'
    '"fault_level":"ManuallySeparateNPU","upgrade_type":"FaultFrequency"}]}'
)


def npus(**upgrades: tuple[Upgrade, ...]) -> dict[PhyId, tuple[Upgrade, ...]]:
    """Return upgrades by id; names are ids behind an ``n``."""
    return {PhyId(int(name[1:])): found for name, found in upgrades.items()}


def test_reasons_are_spelled_as_mindcluster_does() -> None:
    """The literal example of what consumers read."""
    reasons = npus(n4=(RESET,), n0=(LINK_DOWN,), n1=())

    assert format_reasons(reasons, names=NAMES, catalog=CATALOG) == EXAMPLE
    assert parse_reasons(EXAMPLE) == PublishedReasons(npus=npus(n0=(LINK_DOWN,), n4=(RESET,)))


def test_no_reason_is_an_empty_object() -> None:
    assert format_reasons({}, names=NAMES, catalog=CATALOG) == "{}"
    assert parse_reasons("{}") == parse_reasons(" ") == PublishedReasons()


def test_an_npu_without_a_name_is_left_out() -> None:
    """It is not on this node."""
    reasons = npus(n4=(RESET,), n99=(RESET,))

    assert '"Ascend910-4"' in format_reasons(reasons, names=NAMES, catalog=CATALOG)
    assert "99" not in format_reasons(reasons, names=NAMES, catalog=CATALOG)
    assert format_separated(reasons, NAMES) == "Ascend910-4"


@pytest.mark.parametrize(
    ("code", "text"), [(0x020001002, "020001002"), (None, "AutofillFaultCode")]
)
def test_a_code_keeps_its_spelling(code: int | None, text: str) -> None:
    """Leading zeros are compared as text by other components; no code has a word of its own."""
    upgrade = Upgrade(
        code=None if code is None else FaultCode(code),
        level=MANUAL,
        kind=UpgradeKind.FREQUENCY if code else UpgradeKind.AUTOFILL,
        at_ms=Millis(7),
    )
    told = format_reasons(npus(n4=(upgrade,)), names=NAMES, catalog=CATALOG)

    assert f'"fault_code":"{text}"' in told
    assert parse_reasons(told).npus == npus(n4=(upgrade,))


@pytest.mark.parametrize(
    "code", ['"80E18005"', '" 80e18005 "', '"0x80e18005"', '"0080e18005"', '"80e18005"']
)
def test_a_code_is_a_number_however_it_is_spelled(code: str) -> None:
    """Faults D30."""
    text = EXAMPLE.replace('"80e18005"', code)

    assert parse_reasons(text).npus[PhyId(4)] == (RESET,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1700007200000", '"1700007200000"'),
        ("1700007200000", "-1"),
        ("1700007200000", "true"),
        ("1700007200000", "99999999999999999999"),
        ('"80e18005"', '"G"'),
        ('"80e18005"', "2162262021"),
        ('"ManuallySeparateNPU"', '"Separate"'),
        ('"FaultFrequency"', "null"),
        ('"Ascend910-4"', '"Ascend910"'),
        ('{"upgrade_time":1700007200000', '1,{"upgrade_time":-1700007200000'),
    ],
)
def test_a_bad_entry_is_told_and_the_others_stand(old: str, new: str) -> None:
    found = parse_reasons(EXAMPLE.replace(old, new))

    assert found.npus == npus(n0=(LINK_DOWN,))
    assert found.problems
    assert all(len(problem) < 300 for problem in found.problems)


@pytest.mark.parametrize("text", ["[]", "{", "1", "[" * 100_000, '{"Ascend910-0":{}}', "x" * 2**21])
def test_a_text_without_any_reason_gives_none_and_says_so(text: str) -> None:
    found = parse_reasons(text)

    assert (found.npus, len(found.problems)) == ({}, 1)


def test_a_flood_of_bad_entries_is_told_in_part() -> None:
    """Others can write here: what they write must not fill the log."""
    text = ",".join(f"x{n}" for n in range(1000))

    assert len(parse_separated(text).problems) == 20


def test_the_list_ascends_by_id() -> None:
    """Faults D24; as text Ascend910-10 would come before Ascend910-2."""
    assert format_separated({PhyId(10), PhyId(2)}, NAMES) == "Ascend910-2,Ascend910-10"
    assert format_separated((), NAMES) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("Ascend910-0", [0]),
        (" Ascend910-0 , Ascend910-15,", [0, 15]),
        ("npu-3,my-own-name-40", [3, 40]),
        ("Ascend910-2c-100-0", [0]),
    ],
)
def test_a_list_is_read_whatever_prefix_and_blanks_it_has(text: str, found: list[int]) -> None:
    """Faults D36: such names were not recognised, which released the NPU; ids end nowhere."""
    assert parse_separated(text) == SeparatedList(npus=frozenset(map(PhyId, found)))


def test_what_is_no_name_is_told_and_the_others_stand() -> None:
    found = parse_separated("Ascend910-0,nonsense,Ascend910-1")

    assert found.npus == {0, 1}
    assert found.problems == ("'nonsense' is no device name",)


def test_a_list_that_is_too_long_is_not_read() -> None:
    found = parse_separated("Ascend910-1," * 100_000)

    assert (found.npus, len(found.problems)) == (frozenset(), 1)


def test_separated_are_those_whom_people_release() -> None:
    kept = {
        PhyId(0): NpuIsolation(upgrades=(LINK_DOWN,)),
        PhyId(1): NpuIsolation(upgrades=(LINK_DOWN, RESET)),
        PhyId(2): NpuIsolation(upgrades=(UNEXPLAINED,)),
    }

    assert separated(Isolation(npus=kept)) == {1, 2}


def test_a_listed_npu_without_a_reason_was_separated_by_somebody() -> None:
    """Faults 3.5 and D37, start."""
    listed = SeparatedList(npus=frozenset({PhyId(0), PhyId(4)}))
    found = rebuild(
        listed=listed, reasons=PublishedReasons(npus=npus(n0=(LINK_DOWN,))), now=Millis(7)
    )

    assert found.npus == {
        PhyId(0): NpuIsolation(upgrades=(UNEXPLAINED, LINK_DOWN)),
        PhyId(4): NpuIsolation(upgrades=(UNEXPLAINED,)),
    }


def test_a_reason_whose_npu_is_not_listed_was_lifted() -> None:
    """Faults 3.5, start: an operator released it while no agent ran; other levels stay."""
    reasons = PublishedReasons(npus=npus(n0=(LINK_DOWN, RESET), n4=(RESET,)))

    found = rebuild(listed=SeparatedList(npus=frozenset()), reasons=reasons, now=Millis(7))

    assert found.npus == {PhyId(0): NpuIsolation(upgrades=(LINK_DOWN,))}


def test_a_listed_npu_with_its_reason_has_that_one_alone() -> None:
    reasons = PublishedReasons(npus=npus(n4=(RESET,)))

    found = rebuild(
        listed=SeparatedList(npus=frozenset({PhyId(4)})), reasons=reasons, now=Millis(7)
    )

    assert found.npus == {PhyId(4): NpuIsolation(upgrades=(RESET,))}


upgrades = st.builds(
    Upgrade,
    code=st.integers(1, 0xF_FFFF_FFFF).map(FaultCode),
    level=st.sampled_from(FaultLevel),
    kind=st.sampled_from([UpgradeKind.FREQUENCY, UpgradeKind.DURATION]),
    at_ms=st.integers(0, 2**53).map(Millis),
)


@settings(deadline=None, max_examples=50)
@given(
    st.dictionaries(
        st.integers(0, 15).map(PhyId),
        st.lists(upgrades, min_size=1, max_size=4, unique_by=lambda up: (up.code, up.kind)),
    )
)
def test_parse_undoes_format(reasons: dict[PhyId, list[Upgrade]]) -> None:
    told = format_reasons(
        {phy: tuple(found) for phy, found in reasons.items()}, names=NAMES, catalog=CATALOG
    )
    found = parse_reasons(told)

    assert {phy: set(ups) for phy, ups in found.npus.items()} == {
        phy: set(ups) for phy, ups in reasons.items()
    }
    assert found.problems == ()


ANY = 'Ascend910-,: \t\n{}[]"\\ux0\u0664\u00e9\U0001f4a5'


@settings(deadline=None, max_examples=100)
@given(st.text(ANY, max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    """An operator edits it by hand."""
    assert parse_separated(text).npus is not None
    assert parse_reasons(text).npus is not None


@given(
    numbers=st.lists(st.integers(0, 10**12), max_size=8),
    code=st.integers(0, 2**64 - 1),
    at_ms=st.integers(0, 2**53),
)
@settings(max_examples=50)
def test_whatever_is_believed_of_a_text_can_be_kept(
    numbers: list[int], code: int, at_ms: int
) -> None:
    """People may write what they like; the agent's own file must not be damaged by it."""
    names = [f"Ascend910-{number}" for number in numbers]
    reason = {
        "upgrade_time": at_ms,
        "fault_code": f"{code:x}",
        "fault_level": "SeparateNPU",
        "upgrade_type": "FaultFrequency",
    }
    isolation = rebuild(
        listed=parse_separated(",".join(names)),
        reasons=parse_reasons(json.dumps({name: [reason] for name in names})),
        now=Millis(1),
    )
    saved = Saved(isolation=isolation, published=None, written_at_ms=Millis(1))
    assert parse_document(format_document(saved)) == saved


def test_more_npus_than_any_node_has_are_not_believed() -> None:
    """Faults D36: each of them costs at every change, and none of them is there to recover."""
    names = [f"Ascend910-{number}" for number in range(20_000)]
    reasons = json.dumps({name: [json.loads(EXAMPLE)["Ascend910-4"][0]] for name in names[:1100]})
    listed, reasoned = parse_separated(",".join(names)), parse_reasons(reasons)
    assert len(listed.npus) == len(reasoned.npus) == 1024
    assert listed.problems
    assert reasoned.problems
    assert parse_separated(",".join(names[:1024] * 2)).problems == ()


def test_more_reasons_than_an_npu_can_have_are_not_believed() -> None:
    one = json.loads(EXAMPLE)["Ascend910-4"][0]
    text = json.dumps({"Ascend910-4": [one | {"fault_code": f"{n:x}"} for n in range(257)]})
    assert parse_reasons(text).npus == {}
    assert parse_reasons(text).problems
