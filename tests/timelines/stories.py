"""The stories: what happens to a driver, each under the number by which the field knows it.

What people must see of each is stated in the tests; how each ends after a restart of the agent at
any moment is one test for all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.ledger import HealthRules
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.fault import Assertion, FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.ids import PhyId
from ascend_agent.model.isolation import OperatorEdit
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.surroundings import (
    Hangs,
    ResetPhase,
    ResetPhases,
    SwitchEvent,
    SwitchFault,
)
from tests.model.samples import Place, make_npu
from tests.timelines.bench import Node, Story, to_ms

PARITY = 0x80E18005  # RestartNPU; three in a day separate the NPU until people release it
HBM = 0x80E01801  # RestartBusiness
AIV_HUNG = 0x80B78000  # RestartNPU; two in a day separate the NPU
LINK_DOWN = 0x81078603  # network, NotHandleFault; 20 s make it PreSeparateNPU
UB_DOWN = 0x81B18603
NOTED = 0x80E21007  # NotHandleFault
UNKNOWN = 0x8ABCDEF0
PRE_SEPARATED = 0x8118043C
RESET_NPU = 0x80A18008

HOUR_S = 3600


def rules(
    *,
    frequency: Mapping[int, FrequencyRule] | None = None,
    duration: Mapping[int, DurationRule] | None = None,
) -> FaultRules:
    """Return the built-in rules, with other rules about single codes."""
    return replace(
        BUILT_IN,
        frequency={**BUILT_IN.frequency, **{FaultCode(c): r for c, r in (frequency or {}).items()}},
        duration={**BUILT_IN.duration, **{FaultCode(c): r for c, r in (duration or {}).items()}},
    )


def without(code: int) -> FaultRules:
    """Return the built-in rules without any about *code*."""
    return replace(
        BUILT_IN,
        frequency={c: r for c, r in BUILT_IN.frequency.items() if c != code},
        duration={c: r for c, r in BUILT_IN.duration.items() if c != code},
    )


def in_use(*npus: int) -> Allocations:
    """Return that a pod has each of *npus* whole, and nobody any other."""
    holder = Holder(namespace="default", pod="train", container="main")
    return Allocations(
        known=True,
        holders={PhyId(npu): (holder,) for npu in npus},
        shares={PhyId(npu): frozenset({0}) for npu in npus},
    )


NODE = Node(npus=tuple(make_npu(n) for n in range(8)), rules=BUILT_IN, settled=(in_use(),))
ONE_NPU = replace(NODE, npus=NODE.npus[:1], reading_s=600, drop_s=HOUR_S)
"""For stories of days: nothing drops there, and one NPU is enough."""
UB_NODE = replace(
    NODE,
    npus=tuple(make_npu(n, generation="950", place=Place(card=None, link=0)) for n in range(8)),
)
POLLED = replace(
    NODE,
    npus=tuple(make_npu(n, generation="310P") for n in range(2)),
    driver=DriverState(phase=DriverPhase.READY, callbacks=False),
    reading_s=2,
    first_reading_s=1,
)
DUO = replace(
    POLLED,
    npus=tuple(
        make_npu(n, generation="310P", place=Place(card=4 + n // 2, slot=n % 2)) for n in range(4)
    ),
    health=HealthRules(shares_required=False, restore_awaited=True, couple_cards=True),
)
"""Two cards of two chips each, whose chips are reset together."""
WITH_WINDOW = replace(
    NODE,
    rules=rules(
        frequency={
            HBM: FrequencyRule(
                times=2, window_ms=60_000, release_ms=60_000, level=FaultLevel.RESTART_NPU
            )
        }
    ),
)
"""A rule of an operator's own: two faults within a minute, released a minute later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """A story with the node it happens on, and how long it is watched."""

    story: Callable[[], Story]
    until_s: float
    node: Node = NODE


def _flap(story: Story, code: int, at_s: float, for_s: float) -> Story:
    return story.occur(at_s, code).recover(at_s + for_s, code)


def simple() -> Story:
    """W1."""
    return Story().occur(0.2, PARITY).recover(60, PARITY)


def recovered_too_early(*, unlisted_s: float = 63.5) -> Story:
    """W2: the driver lists the code for a while after it told of the recovery."""
    told = Story().occur(0.2, PARITY).recover(60, PARITY, listed=True)
    return told.unlist(unlisted_s, PARITY)


def noticed_once() -> Story:
    """W3."""
    return Story().once(2, PARITY)


def short_fault() -> Story:
    """W4."""
    return Story().occur(1, HBM).recover(1.3, HBM)


def short_link_flap() -> Story:
    """W5."""
    return _flap(Story(), LINK_DOWN, 0, 10)


def long_link_down() -> Story:
    """W6."""
    return _flap(Story(), LINK_DOWN, 0, 45)


def second_flap() -> Story:
    """W7."""
    return _flap(_flap(Story(), LINK_DOWN, 0, 30), LINK_DOWN, 60, 5)


def isolated(*, released_s: float | None = 8000, again_s: float | None = 9000) -> Story:
    """W8: three faults in three hours; an operator releases the NPU; the fault comes again."""
    story = Story()
    for at_s in (0, HOUR_S, 2 * HOUR_S):
        _flap(story, PARITY, at_s, 60)
    if released_s is not None:
        story.put(released_s, OperatorEdit(released=frozenset({PhyId(0)})))
    return story if again_s is None else story.occur(again_s, PARITY)


def five_link_downs() -> Story:
    """W9."""
    story = Story()
    for hour in range(5):
        _flap(story, LINK_DOWN, hour * HOUR_S, 30)
    return story


def released_by_time() -> Story:
    """W10."""
    return _flap(_flap(Story(), HBM, 0, 5), HBM, 30, 5)


def restarted_isolated() -> Story:
    """W11."""
    return isolated(released_s=None, again_s=None).restart(20_000)


def pre_separated() -> Story:
    """W12: a pod has the chip until T+600; another fault comes at T+100 and goes at T+200."""
    story = Story().put(0, in_use(0)).occur(0.5, PRE_SEPARATED)
    story.occur(100, RESET_NPU).recover(200, RESET_NPU)
    return story.put(600, in_use()).recover(900, PRE_SEPARATED)


def dropped() -> Story:
    """W14."""
    return Story().lose(0.5).find(400.5)


def shared_once() -> Story:
    """W16."""
    return Story().occur(0, AIV_HUNG).recover(30, AIV_HUNG)


def duo_chip_faulty() -> Story:
    """W17, until the reset: one of the two chips of a card has a fault, and loses it by reset."""
    return Story().occur(0.5, RESET_NPU, told=False).recover(100.5, RESET_NPU, told=False)


def ring_reset() -> Story:
    """W18, the health side: a ring of eight is reset because of one chip."""
    story = Story().occur(0.5, PARITY, npu=2)
    for at_s, phase in (
        (95, ResetPhase.WITHDRAWING),
        (96, ResetPhase.RESETTING),
        (150, ResetPhase.VERIFYING),
    ):
        story.put(at_s, ResetPhases(npus={PhyId(npu): phase for npu in range(8)}))
    return story.recover(150, PARITY, npu=2).put(155, ResetPhases())


def l2_ports_down() -> Story:
    """W21: one port to the second layer is down, then all sixteen of the chip, then one is up."""
    story = Story().put(1, _port(7, Assertion.OCCURRED, number=1))
    story.put(10, *(_port(port, Assertion.OCCURRED, number=2 + port) for port in range(16)))
    return story.put(20, _port(3, Assertion.RECOVERED, number=18))


def _port(port: int, assertion: Assertion, *, number: int) -> SwitchEvent:
    return SwitchEvent(
        sequence=number,
        fault=SwitchFault(
            event_type=0x08520003,
            sub_type=0xFFFFFFFF,
            peer=2,
            peer_port=port,
            chip=0,
            port=port,
            severity=2,
            assertion=assertion,
            raised_ms=to_ms(0),
        ),
    )


def all_ub_down() -> Story:
    """W22: one chip's UB ports, then everybody's, then one chip is well again."""
    story = Story().occur(0, UB_DOWN)
    for npu in range(1, 8):
        story.occur(10, UB_DOWN, npu=npu)
    return story.recover(20, UB_DOWN, npu=5)


def hung() -> Story:
    """W23, once the detector has found it."""
    return Story().put(360, Hangs(since_ms={PhyId(0): to_ms(360)})).put(420, Hangs())


def rule_removed() -> Story:
    """W24."""
    return isolated(released_s=None, again_s=None).put(8000, without(PARITY))


def lost_events() -> Story:
    """W25: an occurrence, and later a recovery, that nobody tells."""
    return Story().occur(1, PARITY, npu=6, told=False).recover(200, PARITY, npu=6, told=False)


def polled() -> Story:
    """W26: no callbacks; a code from T+2 to T+4, and one from T+2 to T+12."""
    story = Story().occur(2, PARITY, told=False).recover(4, PARITY, told=False)
    return story.occur(2, HBM, npu=1, told=False).recover(12, HBM, npu=1, told=False)


TALES: Mapping[str, Tale] = MappingProxyType(
    {
        "W1": Tale(story=simple, until_s=300),
        "W2": Tale(story=recovered_too_early, until_s=300),
        "W3": Tale(story=noticed_once, until_s=300),
        "W4": Tale(story=short_fault, until_s=300),
        "W5": Tale(story=short_link_flap, until_s=300),
        "W6": Tale(story=long_link_down, until_s=300),
        "W7": Tale(story=second_flap, until_s=300),
        "W8": Tale(story=isolated, until_s=10_000, node=ONE_NPU),
        "W9": Tale(story=five_link_downs, until_s=200_000, node=ONE_NPU),
        "W10": Tale(story=released_by_time, until_s=300, node=WITH_WINDOW),
        "W11": Tale(story=restarted_isolated, until_s=30_000, node=ONE_NPU),
        "W12": Tale(story=pre_separated, until_s=1000),
        "W14": Tale(story=dropped, until_s=600),
        "W16": Tale(story=shared_once, until_s=300),
        "W17": Tale(story=duo_chip_faulty, until_s=300, node=DUO),
        "W18": Tale(story=ring_reset, until_s=300),
        "W22": Tale(story=all_ub_down, until_s=300, node=UB_NODE),
        "W23": Tale(story=hung, until_s=600),
        "W24": Tale(story=rule_removed, until_s=10_000, node=ONE_NPU),
        "W25": Tale(story=lost_events, until_s=600),
        "W26": Tale(story=polled, until_s=60, node=POLLED),
    }
)
"""The stories that are about the fold alone, by the number of the timeline."""
