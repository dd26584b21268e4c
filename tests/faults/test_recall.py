"""In doubt an NPU stays separated; what people took off the list is released."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.recall import recall, released, released_elsewhere, texts
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import Millis, ObjectVersion, PhyId
from ascend_agent.model.isolation import (
    Isolation,
    IsolationTexts,
    NpuIsolation,
    PublishedIsolation,
    Recalled,
    Restored,
    Upgrade,
    UpgradeKind,
)

NOW = Millis(1_700_000_000_000)
MANUAL = FaultLevel.MANUALLY_SEPARATE_NPU


def upgrade(
    code: int = 0x80E18005,
    *,
    level: FaultLevel = MANUAL,
    kind: UpgradeKind = UpgradeKind.FREQUENCY,
    at: int = NOW,
) -> Upgrade:
    return Upgrade(code=FaultCode(code), level=level, kind=kind, at_ms=Millis(at))


LINK = upgrade(0x81078603, level=FaultLevel.PRE_SEPARATE_NPU, kind=UpgradeKind.DURATION)
AUTOFILL = Upgrade(code=None, level=MANUAL, kind=UpgradeKind.AUTOFILL, at_ms=NOW)


def isolation(npus: Mapping[int, tuple[Upgrade, ...]]) -> Isolation:
    return Isolation(
        npus={PhyId(phy): NpuIsolation(upgrades=upgrades) for phy, upgrades in npus.items()}
    )


def spelled(
    npus: Mapping[int, tuple[Upgrade, ...]], said: IsolationTexts | None = None
) -> IsolationTexts:
    names = {PhyId(phy): f"Ascend910-{phy}" for phy in range(16)}
    said = said or IsolationTexts()
    return texts(isolation(npus), names=names, catalog=CATALOG, said=said)


def published(
    separated: str = "", reasons: str = "", *, uid: str = "u", version: int = 9
) -> PublishedIsolation:
    return PublishedIsolation(
        uid=uid,
        version=ObjectVersion(str(version)),
        texts=IsolationTexts(separated=separated, reasons=reasons),
    )


def remembered(before: PublishedIsolation | None = None, *, lost: bool = False) -> Restored:
    return Restored(isolation=Isolation(), source="file", published=before, lost=lost)


# --- what operators take off ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrote", "found", "npus"),
    [
        ("Ascend910-3", "", {3}),
        ("Ascend910-3,Ascend910-5", "Ascend910-5", {3}),
        ("Ascend910-3,Ascend910-5", " my-cards-5 , ", {3}),  # blanks, a name of their own
        ("Ascend910-3,Ascend910-17", "Ascend910-3", {17}),  # beyond 15 as well
        ("Ascend910-3", "Ascend910-3,Ascend910-4", set()),  # nobody can add one
        ("Ascend910-3", "Ascend910_3", set()),  # a slip is no release
        ("", "Ascend910-3", set()),
        ("", "", set()),
    ],
)
def test_names_that_are_gone_are_released(wrote: str, found: str, npus: set[int]) -> None:
    assert released(wrote=wrote, found=found) == npus


# --- after a restart ------------------------------------------------------------------------


def test_a_node_that_says_what_was_last_seen_says_nothing_new() -> None:
    both = spelled({3: (upgrade(), LINK)})
    said = published(both.separated, both.reasons, version=12)

    recalled = recall(remembered(published(both.separated, both.reasons)), said, now=NOW)

    assert recalled == Recalled(released=frozenset(), isolation=Isolation())


def test_a_name_that_was_taken_off_while_no_agent_looked_is_released() -> None:
    before = spelled({3: (upgrade(),), 5: (upgrade(),)})
    said = published("Ascend910-5", before.reasons, version=12)

    recalled = recall(remembered(published(before.separated, before.reasons)), said, now=NOW)

    assert recalled == Recalled(released=frozenset({PhyId(3)}), isolation=Isolation())


def test_a_node_that_was_made_anew_has_been_edited_by_nobody() -> None:
    """The kubelet registers it without annotations: that is no release."""
    before = published("Ascend910-3", spelled({3: (upgrade(),)}).reasons)

    recalled = recall(remembered(before), published(uid="another"), now=NOW)

    assert recalled == Recalled(released=frozenset(), isolation=Isolation())


def test_what_was_never_published_was_not_taken_off() -> None:
    """Isolated while the API server was away."""
    assert recall(remembered(), published(), now=NOW).released == set()


def test_a_list_that_can_not_be_read_releases_nobody_and_is_told() -> None:
    before = published("Ascend910-3", spelled({3: (upgrade(),)}).reasons)

    recalled = recall(remembered(before), published("nonsense", "[]"), now=NOW)

    assert recalled.released == set()
    assert len(recalled.passed_over) == 2
    assert "nonsense" in recalled.passed_over[0]


def test_reasons_that_were_written_after_the_file_are_taken_in() -> None:
    """The disk was full, or the machine lost power: the newer of the two wins."""
    old, new = spelled({3: (upgrade(),)}), spelled({3: (upgrade(), LINK), 5: (upgrade(),)})
    before = published(old.separated, old.reasons)

    recalled = recall(remembered(before), published(new.separated, new.reasons), now=NOW)

    assert recalled == Recalled(
        released=frozenset(), isolation=isolation({3: (LINK,), 5: (upgrade(),)})
    )


def test_a_name_that_was_added_without_a_reason_is_nothing() -> None:
    """People can only take names off; what they add is written over."""
    recalled = recall(remembered(), published("Ascend910-3"), now=NOW)

    assert recalled == Recalled(released=frozenset(), isolation=Isolation())


def test_a_reason_to_separate_an_npu_that_is_not_listed_was_lifted() -> None:
    said = published("", spelled({3: (upgrade(), LINK)}).reasons)

    assert recall(remembered(), said, now=NOW).isolation == isolation({3: (LINK,)})


def test_without_a_file_all_that_is_published_counts() -> None:
    """A name without a reason was separated by somebody who gave none (D37)."""
    reasons = spelled({3: (upgrade(), LINK), 5: (upgrade(), LINK)}).reasons
    said = published("Ascend910-3,Ascend910-7", reasons)

    recalled = recall(remembered(lost=True), said, now=NOW)

    assert recalled == Recalled(
        released=frozenset(),
        isolation=isolation({3: (upgrade(), LINK), 5: (LINK,), 7: (AUTOFILL,)}),
    )


def test_without_a_file_a_list_that_can_not_be_read_lifts_no_reason() -> None:
    said = published("Ascend910-7,?", spelled({3: (upgrade(),), 5: (LINK,)}).reasons)

    recalled = recall(remembered(lost=True), said, now=NOW)

    assert recalled.isolation == isolation({3: (upgrade(),), 5: (LINK,), 7: (AUTOFILL,)})


# --- what is published ----------------------------------------------------------------------


def test_the_texts_are_those_of_mindcluster() -> None:
    found = spelled({4: (upgrade(at=1700007200000),), 0: (LINK,), 1: ()})

    assert found.separated == "Ascend910-4"
    assert json.loads(found.reasons) == {
        "Ascend910-0": [
            {
                "upgrade_time": NOW,
                "fault_code": "81078603",
                "fault_level": "PreSeparateNPU",
                "upgrade_type": "FaultDuration",
            }
        ],
        "Ascend910-4": [
            {
                "upgrade_time": 1700007200000,
                "fault_code": "80e18005",
                "fault_level": "ManuallySeparateNPU",
                "upgrade_type": "FaultFrequency",
            }
        ],
    }
    assert spelled({}) == IsolationTexts()
    assert spelled({2: (AUTOFILL,)}).separated == "Ascend910-2"


@pytest.mark.parametrize(
    ("now", "stays"),
    [
        ({3: (upgrade(at=NOW + 299_999),)}, True),
        ({3: (upgrade(at=NOW + 300_000),)}, False),
        ({3: (upgrade(at=NOW - 300_000),)}, False),
        ({3: (upgrade(level=FaultLevel.RESTART_NPU),)}, False),
        ({3: (upgrade(0x80E01801),)}, False),
        ({3: (upgrade(), LINK)}, False),
        ({5: (upgrade(),)}, False),
        ({}, False),
    ],
)
def test_a_time_that_moved_a_little_is_not_written_again(
    now: Mapping[int, tuple[Upgrade, ...]],
    stays: bool,  # noqa: FBT001 -- the case
) -> None:
    """A flapping NPU moves the time of its reason all the while: no request a second for that."""
    said = spelled({3: (upgrade(),)})

    assert (spelled(now, said).reasons == said.reasons) is stays
    if not stays:
        assert spelled(now, said) == spelled(now)


def test_what_others_made_of_the_reasons_is_written_over() -> None:
    said = spelled({3: (upgrade(),)})
    added = f'{said.reasons[:-1]},"Ascend910-5":[{{}}]}}'
    for edited in ("", "{}", "nonsense", said.reasons.replace("80e18005", "zz"), added):
        theirs = IsolationTexts(separated=said.separated, reasons=edited)
        assert spelled({3: (upgrade(),)}, theirs) == said
    theirs = IsolationTexts(reasons="nonsense")
    assert spelled({}, theirs) == IsolationTexts()


@pytest.mark.parametrize(("later_ms", "gone"), [(2_001, {4}), (2_000, set()), (-1, set())])
def test_who_is_let_go_by_an_agent_that_knew_is_let_go(later_ms: int, gone: set[int]) -> None:
    """What another agent may not have heard of yet stays: in doubt an NPU stays separated."""
    manual = Upgrade(
        code=FaultCode(0x80E18005),
        level=FaultLevel.MANUALLY_SEPARATE_NPU,
        kind=UpgradeKind.FREQUENCY,
        at_ms=Millis(10_000),
    )
    mild = replace(manual, level=FaultLevel.SEPARATE_NPU)
    here = Isolation(
        npus={
            PhyId(4): NpuIsolation(upgrades=(manual,)),
            PhyId(5): NpuIsolation(upgrades=(manual,)),
            PhyId(6): NpuIsolation(upgrades=(mild,)),
        }
    )
    there = Isolation(npus={PhyId(5): NpuIsolation(upgrades=(manual,))})

    assert released_elsewhere(here, there=there, written_at=Millis(10_000 + later_ms)) == gone
