"""The check ``npus``: which NPUs the driver lists, and which of them would be offered.

The agent's own policy judges them; a chip that it would leave out is a failure with the reason.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ascend_agent.doctor.answers import DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, about_npus, fail, ok, skipped, warn
from ascend_agent.doctor.hami_side import draw_here
from ascend_agent.doctor.picture import Picture
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.survey import Survey, SurveyedNpu
from ascend_agent.driver.answers import format_place
from ascend_agent.driver.dcmi import codes
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.model.health import HealthState, NpuView
from ascend_agent.model.ids import PhyId

_RESET: Final = "reset the card if it stays so, see npu-smi info and the kernel log"


async def _look(place: Place) -> tuple[Finding, ...]:
    answer = await place.driver()
    if isinstance(answer, DriverTrouble):
        return (skipped("npus", "the driver does not answer, see the check driver"),)
    return judge(answer, await draw_here(place, answer))


def judge(survey: Survey, picture: Picture) -> tuple[Finding, ...]:
    """Return what is to be said of the NPUs that are not well, and one finding about all others."""
    found = [
        *_listing(survey),
        *(_unread(npu) for npu in survey.npus if npu.identity is None),
        *(_unknown(npu) for npu in survey.npus if npu.identity and npu.spec is None),
        *about_npus(_unwell(picture.view.npus)),
    ]
    if not survey.npus:
        found.append(
            fail(
                "no npu listed",
                "the driver answers and lists no NPU",
                remedy="see npu-smi info -l and the kernel log: the cards are still starting, lost "
                "or in use by another virtual machine; in a container only a privileged one sees "
                "all",
            )
        )
    if picture.counts:
        counts = [
            f"{count.healthy} of {count.total} {resource}"
            for resource, count in picture.counts.items()
        ]
        found.append(ok("npus to be offered", ", ".join(counts)))
    return tuple(found)


def _listing(survey: Survey) -> Iterator[Finding]:
    listing = survey.enumeration
    if listing.lost_cards:
        yield fail(
            "cards lost",
            f"{listing.lost_cards} of {listing.cards} cards are there and the driver can't bring "
            "them up",
            remedy=_RESET,
        )
    for card, call, rc in listing.unreadable:
        yield fail(
            "card can't be listed",
            f"card {card}: {call} answered {rc} ({codes.describe(rc)})",
            remedy=codes.advise(rc) or _RESET,
        )


def _unread(npu: SurveyedNpu) -> Finding:
    steps = [step for rc in npu.codes if (step := codes.advise(rc))]
    return fail(
        "npu does not answer",
        f"{format_place(npu.address)}: {'; '.join(npu.trouble)}",
        remedy="; ".join(steps) or _RESET,
    )


def _unknown(npu: SurveyedNpu) -> Finding:
    chip = npu.identity.chip if npu.identity else None
    return fail(
        "chip not recognised",
        f"{format_place(npu.address)}: {chip and chip.chip_name!r}, board {chip and chip.board_id}",
        remedy="upgrade the agent, or report chip name and board id; see docs/chips.md",
    )


def _unwell(views: Iterable[NpuView]) -> Iterator[tuple[PhyId, Finding]]:
    for view in views:
        if view.state is not HealthState.HEALTHY:
            yield view.npu.phy, _illness(view)


def _illness(view: NpuView) -> Finding:
    faults = [f"{CATALOG.text_of(fault.code)} ({fault.level.value})" for fault in view.faults]
    detail = ", ".join([*(reason.value for reason in view.reasons), *faults])
    codes = " ".join(CATALOG.text_of(fault.code) for fault in view.faults)
    explained = [f"`ascend-agent faults {codes}` says what to do"] if codes else []
    if view.state is HealthState.SUB_HEALTHY:
        return warn("npu sub-healthy", detail, remedy="; ".join(explained) or "see docs/faults.md")
    return fail("npu out of service", detail, remedy="; ".join([*explained, _RESET]))


CHECK: Final = Check(
    name="npus",
    asks="Which NPUs does the driver list, and would the agent offer each of them?",
    advice=(
        "No NPU listed, cards lost: npu-smi info -l and the kernel log tell more; a reset or a "
        "restart of the node brings most of them back.\n"
        "Chip not recognised: this version of the agent does not know it.\n"
        "Out of service: the detail has the reasons and fault codes; an NPU comes back by "
        "itself when they are gone."
    ),
    look=_look,
)
