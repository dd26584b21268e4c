"""The sentences of ``meanings`` about all but codes: reasons, upgrades, switches.

As in ``meaning_texts``: title, what it means, what to do.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ascend_agent.faults.catalog import Role
from ascend_agent.faults.meaning_texts import CHIP_LEVELS, NOTHING, ROLES, Texts
from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.health import UnhealthyReason
from ascend_agent.model.isolation import UpgradeKind
from ascend_agent.model.surroundings import DpuHealth

REASONS: Final[Mapping[UnhealthyReason, Texts]] = MappingProxyType(
    {
        UnhealthyReason.FAULT: (
            "fault",
            "A fault code stands that takes the NPU out of service.",
            "See what the code means: ascend-agent faults CODE.",
        ),
        UnhealthyReason.UPGRADED: (
            "fault too often or too long",
            "A rule about how often or how long a fault occurs has raised the NPU's level.",
            "Nothing, if it is lowered by itself; see the rule with ascend-agent faults CODE.",
        ),
        UnhealthyReason.MANUALLY_SEPARATED: CHIP_LEVELS[FaultLevel.MANUALLY_SEPARATE_NPU],
        UnhealthyReason.RESETTING: (
            "being reset",
            "The NPU is being reset, and comes back when that has succeeded.",
            NOTHING,
        ),
        UnhealthyReason.CARD_SIBLING: (
            "other chip of its card is faulty",
            (
                "The NPU itself is fit, but shares a card with a faulty one, and both are reset "
                "together."
            ),
            "See the faults of the other NPU of the card.",
        ),
        UnhealthyReason.CARD_DROP: (
            "NPU lost",
            f"{ROLES[Role.CARD_DROP][1]} It comes back by itself once it answers.",
            ROLES[Role.CARD_DROP][2],
        ),
        UnhealthyReason.DCMI_HEALTH: (
            "alarm without a fault code",
            "The driver calls the NPU's health major or critical and lists no code for it.",
            "Ask the driver (npu-smi info -t health) and look into its logs (msnpureport).",
        ),
        UnhealthyReason.DRIVER_UNRESPONSIVE: (
            "driver does not answer for it",
            "Calls of the driver about it fail or don't return; the faults known so far stay.",
            "See whether npu-smi info hangs as well; a hung card needs a restart of the node.",
        ),
        UnhealthyReason.DRIVER_UNAVAILABLE: (
            "driver not available",
            "The vendor's library can't be used at all, so nothing is known of any NPU.",
            "Run ascend-agent doctor: it says what is wrong with driver and library.",
        ),
        UnhealthyReason.SHARE_NOT_ENABLED: (
            "sharing is off",
            (
                "NPUs are offered in shares, but the driver has not let several containers use "
                "this one."
            ),
            (
                "Look for the agent's warnings about device-share; npu-smi set -t device-share "
                "does it by hand."
            ),
        ),
        UnhealthyReason.NOT_READ: (
            "not read yet",
            "The NPU is known, and its health has not been told yet.",
            "Wait for a moment; if it stays, see whether npu-smi info hangs.",
        ),
    }
)

UPGRADES: Final[Mapping[UpgradeKind, Texts]] = MappingProxyType(
    {
        UpgradeKind.FREQUENCY: (
            "too often",
            "The fault occurred more often than a rule allows.",
            "See the rule with ascend-agent faults CODE.",
        ),
        UpgradeKind.DURATION: (
            "too long",
            "The fault stood for longer than a rule allows, or has not been gone for long enough.",
            "See the rule with ascend-agent faults CODE; it is lowered by itself.",
        ),
        UpgradeKind.AUTOFILL: (
            "isolated without a known reason",
            "The NPU is on the list of separated ones, and nobody wrote down why.",
            "Release it when it is fit (docs/faults.md says how).",
        ),
    }
)

_DPU_ACTION: Final = ROLES[Role.DPU_SUB_HEALTH][2]

DPUS: Final[Mapping[DpuHealth, Texts]] = MappingProxyType(
    {
        DpuHealth.HEALTHY: ("DPU NICs up", "The DPU NICs that the NPU uses are up.", NOTHING),
        DpuHealth.SUB_HEALTHY: ROLES[Role.DPU_SUB_HEALTH],
        DpuHealth.UNHEALTHY: (
            "DPU NICs down",
            (
                "Every DPU NIC that the NPU uses is down: jobs that need them must go elsewhere. "
                "The NPU itself stays in service."
            ),
            _DPU_ACTION,
        ),
    }
)

PEERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cpu": "of a switch port towards a CPU",
        "npu": "of a switch port towards an NPU",
        "L2": "of a switch port towards the second switch layer",
    }
)

SWITCH_ALARMS: Final[Mapping[str, str]] = MappingProxyType({"0x08520003": "link down"})

_SWITCH_ACTION: Final = "Examine the node's switch and its cables with the vendor's tools."

SWITCH_LEVELS: Final[Mapping[SwitchLevel, Texts]] = MappingProxyType(
    {
        SwitchLevel.NOT_HANDLE: (
            "for information",
            (
                "The node stays as it is. Sixteen links of one switch chip that are down towards "
                "the second layer take it out all the same."
            ),
            NOTHING,
        ),
        SwitchLevel.SUB_HEALTH: (
            "switch degraded",
            "The node counts as degraded, and schedulers may prefer others.",
            _SWITCH_ACTION,
        ),
        SwitchLevel.RESTART_REQUEST: (
            "request failed",
            "The node counts as unhealthy until the fault is gone.",
            f"Repeat what failed. {_SWITCH_ACTION}",
        ),
        SwitchLevel.PRE_SEPARATE: (
            "no new jobs on the node",
            "Jobs of the node may go on; nothing new is placed on it.",
            f"Let its jobs end. {_SWITCH_ACTION}",
        ),
        SwitchLevel.SEPARATE: (
            "node isolated",
            "The node counts as unhealthy as long as the fault stands.",
            f"Move its jobs to other nodes. {_SWITCH_ACTION}",
        ),
    }
)
