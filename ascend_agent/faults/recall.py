"""What is published of isolation, held against what was remembered of it (faults D36, W28).

Decides what of a published object is an operator's doing, what an agent wrote later than the host's
file, and when a text need not be written anew. A stale view, another object, and a text that can't
be read are nobody's edit: in doubt an NPU stays separated. Where the texts stand is the dialect's
business, when they are looked at the flow's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from ascend_agent.faults.published import (
    format_reasons,
    format_separated,
    parse_reasons,
    parse_separated,
    rebuild,
    separated,
)
from ascend_agent.faults.upgrades import key, lifted_by_people
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import (
    Isolation,
    IsolationTexts,
    NpuIsolation,
    PublishedIsolation,
    Recalled,
    Restored,
    Upgrade,
)

_REFRESH_MS: Final = 300_000
"""A reason's time that moved by less is not written anew: a flapping NPU moves it all the time."""
_WRITTEN_WITHIN_MS: Final = 2_000
"""The file follows isolation within a second, and one agent may count a moment later."""


def released(*, wrote: str, found: str) -> frozenset[PhyId]:
    """Return the NPUs that *found* no longer lists, though we *wrote* them.

    None where *found* names something that is no NPU: it may be a slip.
    """
    now = parse_separated(found)
    return frozenset() if now.problems else parse_separated(wrote).npus - now.npus


def released_elsewhere(
    here: Isolation, *, there: Isolation, written_at: Millis
) -> frozenset[PhyId]:
    """Return the NPUs that stand separated *here*, and that another agent let go, who served.

    *there* is what that one wrote last, at *written_at*. It heard of the same faults, so what is
    older than that and not in it was lifted; what it may not have known yet stays.
    """
    lately = written_at - _WRITTEN_WITHIN_MS
    return frozenset(
        phy
        for phy in separated(here) - separated(there)
        if all(it.at_ms < lately for it in here.npus[phy].upgrades if lifted_by_people(it))
    )


def recall(restored: Restored, said: PublishedIsolation, *, now: Millis) -> Recalled:
    """Return what *said* tells beyond what was remembered.

    Where nothing was remembered it is all there is. Else a name that was added without a reason
    is nothing: people can only take names off the list.
    """
    listed = parse_separated(said.texts.separated)
    reasons = parse_reasons(said.texts.reasons)
    passed_over = (*listed.problems, *reasons.problems)
    if listed.problems:
        # Whom else it means nobody knows: a reason is then enough to stay separated.
        reasoned = {
            phy for phy, upgrades in reasons.npus.items() if any(map(lifted_by_people, upgrades))
        }
        listed = replace(listed, npus=listed.npus | reasoned)
    if restored.lost:
        isolation = rebuild(listed=listed, reasons=reasons, now=now)
        return Recalled(released=frozenset(), isolation=isolation, passed_over=passed_over)
    before = _texts_before(restored, said)
    known = parse_reasons(before.reasons).npus
    news = {
        phy: NpuIsolation(upgrades=fresh)
        for phy, upgrades in reasons.npus.items()
        if (fresh := _fresh(upgrades, known.get(phy, ()), listed=phy in listed.npus))
    }
    return Recalled(
        released=released(wrote=before.separated, found=said.texts.separated),
        isolation=Isolation(npus=news),
        passed_over=passed_over,
    )


def texts(
    isolation: Isolation,
    *,
    names: Mapping[PhyId, str],
    catalog: Catalog,
    said: IsolationTexts,
) -> IsolationTexts:
    """Return what is to be published; *said* is what stands there, which stays if it will do."""
    upgrades = {phy: kept.upgrades for phy, kept in isolation.npus.items() if kept.upgrades}
    reasons = format_reasons(upgrades, names=names, catalog=catalog) if upgrades else ""
    return IsolationTexts(
        separated=format_separated(separated(isolation), names),
        reasons=said.reasons if _says_as_much(said.reasons, reasons) else reasons,
    )


def _texts_before(restored: Restored, said: PublishedIsolation) -> IsolationTexts:
    """Return what this very object said when it was last as it should be."""
    published = restored.published
    if published is None or published.uid != said.uid:
        return IsolationTexts()
    return published.texts


def _fresh(
    upgrades: Iterable[Upgrade], known: Iterable[Upgrade], *, listed: bool
) -> tuple[Upgrade, ...]:
    """Return those that were not known; a reason to separate an NPU counts while it is listed."""
    keys = set(map(key, known))
    return tuple(
        upgrade
        for upgrade in upgrades
        if key(upgrade) not in keys and (listed or not lifted_by_people(upgrade))
    )


def _says_as_much(said: str, wanted: str) -> bool:
    """Return whether *said* has the reasons of *wanted*, with times that are about the same."""
    if said == wanted:
        return True
    there, due = parse_reasons(said), parse_reasons(wanted)
    if there.problems or not wanted or there.npus.keys() != due.npus.keys():
        return False
    return all(
        len(due.npus[phy]) == len(upgrades) and all(map(_alike, upgrades, due.npus[phy]))
        for phy, upgrades in there.npus.items()
    )


def _alike(one: Upgrade, other: Upgrade) -> bool:
    same = (key(one), one.level) == (key(other), other.level)
    return same and abs(one.at_ms - other.at_ms) < _REFRESH_MS
