"""The file of isolation state: what comes back is what went in, or nothing."""

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.faults.persisted import (
    LONGEST_DOCUMENT,
    Damaged,
    Saved,
    format_document,
    parse_document,
)
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import DieId, Millis, ObjectVersion, PhyId
from ascend_agent.model.isolation import (
    CodeHistory,
    Isolation,
    IsolationTexts,
    NpuIsolation,
    PublishedIsolation,
    Upgrade,
    UpgradeKind,
)

KEPT = NpuIsolation(
    upgrades=(
        Upgrade(
            code=None,
            level=FaultLevel.MANUALLY_SEPARATE_NPU,
            kind=UpgradeKind.AUTOFILL,
            at_ms=Millis(5),
        ),
        Upgrade(
            code=FaultCode(0x81078603),
            level=FaultLevel.PRE_SEPARATE_NPU,
            kind=UpgradeKind.DURATION,
            at_ms=Millis(20_000),
        ),
    ),
    codes={
        FaultCode(0x81078603): CodeHistory(
            occurrences=(Millis(1), Millis(20_000)),
            last_fault_ms=Millis(20_000),
            last_recover_ms=None,
            stands_since_ms=Millis(0),
        )
    },
    die=DieId("D1"),
)
SAVED = Saved(
    isolation=Isolation(npus={PhyId(4): KEPT}),
    published=PublishedIsolation(
        uid="u-1",
        version=ObjectVersion("12"),
        texts=IsolationTexts(separated="Ascend910-4", reasons="{}"),
    ),
    written_at_ms=Millis(30_000),
)

ANY = 'Ascend910-, {}"\\\n\u00e9\U0001f4a5'  # every other character would do as well

moments = st.integers(0, 2**53).map(Millis)
codes = st.integers(0, 0x_F_FFFF_FFFF).map(FaultCode)
records = st.builds(
    CodeHistory,
    occurrences=st.lists(moments, max_size=5).map(lambda at: tuple(sorted(at))),
    last_fault_ms=st.none() | moments,
    last_recover_ms=st.none() | moments,
    stands_since_ms=st.none() | moments,
)
upgrades = st.builds(
    Upgrade,
    code=codes,
    level=st.sampled_from(FaultLevel),
    kind=st.sampled_from([UpgradeKind.FREQUENCY, UpgradeKind.DURATION]),
    at_ms=moments,
)
anything_kept = st.builds(
    NpuIsolation,
    upgrades=st.lists(upgrades, max_size=3).map(tuple),
    codes=st.dictionaries(codes, records, max_size=3),
    die=st.none() | st.text(ANY, max_size=20).map(DieId),
)
anything_published = st.builds(
    PublishedIsolation,
    uid=st.text(ANY, max_size=10),
    version=st.text(ANY, max_size=5).map(ObjectVersion),
    texts=st.builds(
        IsolationTexts, separated=st.text(ANY, max_size=30), reasons=st.text(ANY, max_size=30)
    ),
)
anything_saved = st.builds(
    Saved,
    isolation=st.builds(
        Isolation, npus=st.dictionaries(st.integers(0, 63).map(PhyId), anything_kept, max_size=3)
    ),
    published=st.none() | anything_published,
    written_at_ms=moments,
)


def content() -> Any:
    return json.loads(format_document(SAVED))["content"]


def sealed(raw: object) -> str:
    """Return a document of *raw* whose checksum is right."""
    text = json.dumps(raw, separators=(",", ":"), sort_keys=True)
    checksum = sha256(text.encode()).hexdigest()
    return json.dumps({"format": 1, "sha256": checksum, "content": raw})


def detail(text: str) -> str:
    found = parse_document(text)
    assert isinstance(found, Damaged)
    return found.detail


def test_the_document_is_the_one_that_is_described() -> None:
    """Its form outlives this version of the agent."""
    text = format_document(SAVED)

    assert text.startswith('{"format":1,"sha256":"')
    assert text.endswith(
        '"content":{"written_at_ms":30000,"published":{"uid":"u-1","version":"12",'
        '"separated":"Ascend910-4","reasons":"{}"},"npus":{"4":{"die":"D1",'
        '"upgrades":[{"code":null,"level":"ManuallySeparateNPU","kind":"FaultAutofill","at_ms":5},'
        '{"code":"81078603","level":"PreSeparateNPU","kind":"FaultDuration","at_ms":20000}],'
        '"codes":{"81078603":{"occurrences":[1,20000],"last_fault_ms":20000,'
        '"last_recover_ms":null,"stands_since_ms":0}}}}}}\n'
    )
    assert sealed(content()) == json.dumps(json.loads(text))


@settings(deadline=None, max_examples=25)
@given(anything_saved)
def test_what_comes_back_is_what_went_in(saved: Saved) -> None:
    assert parse_document(format_document(saved)) == saved


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_a_document_that_was_cut_or_changed_is_not_believed(data: st.DataObject) -> None:
    """Any character of it; blanks between the values say nothing and may be any."""
    text = format_document(SAVED)
    place = data.draw(st.integers(0, len(text) - 2))
    other = data.draw(st.sampled_from(["0", "7", "x", '"', "}", ""]))
    changed = text[:place] + other + text[place + 1 :]

    assert changed == text or isinstance(parse_document(changed), Damaged)
    assert isinstance(parse_document(text[:place]), Damaged)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", ""),
        ("[" * 100_000, ""),
        ("[]", "not one of ours"),
        ('{"format": 1}', "not one of ours"),
        ('{"format": 2, "sha256": "", "content": {}}', "format is 2"),
        ('{"format": 1, "sha256": "", "content": {}}', "checksum"),
        (" " * (LONGEST_DOCUMENT + 1), "more than"),
    ],
    ids=["empty", "deep", "list", "foreign", "newer", "sum", "long"],
)
def test_the_reason_why_it_is_no_document_is_told(text: str, word: str) -> None:
    assert word in detail(text)


def broken(path: str, value: object) -> str:
    """Return a sealed document with the value at *path* replaced; a list's parts by number."""
    raw = content()
    at = raw
    *way, last = path.split("/")
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at[step]
    at[last] = value
    return sealed(raw)


CODE = "npus/4/codes/81078603"


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("more", 1, "content is no object of written_at_ms, published, npus"),
        ("written_at_ms", "1", "written_at_ms is '1'"),
        ("written_at_ms", True, "written_at_ms is True"),
        ("written_at_ms", -1, "written_at_ms is -1"),
        ("written_at_ms", 2**53 + 1, "written_at_ms is 9007199254740993"),
        ("published", 4, "published is no object of uid"),
        ("published/version", 12, "published.version is 12"),
        ("npus", [], "npus is []"),
        ("npus/04", {}, "npus has '04'"),
        ("npus/4", {}, "npus.4 is no object of die"),
        ("npus/4/die", 1, "npus.4.die is 1"),
        ("npus/4/die", "x" * 101, "npus.4.die is"),
        ("npus/4/upgrades", {}, "npus.4.upgrades is {}"),
        ("npus/4/upgrades/0/level", "Bad", "npus.4.upgrades[0].level is 'Bad'"),
        ("npus/4/upgrades/0/kind", None, "npus.4.upgrades[0].kind is None"),
        ("npus/4/upgrades/0/code", "81078603", "npus.4.upgrades[0].code is '81078603'"),
        ("npus/4/upgrades/1/code", None, "npus.4.upgrades[1].code is None"),
        ("npus/4/upgrades/1/code", "zz", "npus.4.upgrades[1].code has 'zz'"),
        ("npus/4/codes/8107860a", {}, "npus.4.codes has '8107860a'"),
        (f"{CODE}/occurrences", [2, 1], "npus.4.codes.81078603.occurrences"),
        (f"{CODE}/occurrences", list(range(101)), "npus.4.codes.81078603.occurrences"),
        (f"{CODE}/occurrences", [None], "npus.4.codes.81078603.occurrences[0] is None"),
        (f"{CODE}/last_fault_ms", 1.5, "npus.4.codes.81078603.last_fault_ms is 1.5"),
    ],
)
def test_what_is_wrong_with_a_document_is_named(path: str, value: object, told: str) -> None:
    """Written by hand, or by another version, with a right checksum."""
    assert told in detail(broken(path, value))


def test_a_complaint_stays_short() -> None:
    assert len(detail(broken("published/uid", ["x" * 100_000]))) < 200
