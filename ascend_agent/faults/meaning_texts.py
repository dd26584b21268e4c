"""The sentences of ``meanings`` about levels and codes: title, what it means, what to do.

Each level has its consequence in the words of the node's operator; a special code says what
happened, and its action only where the level's own would not help.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ascend_agent.faults.catalog import Role
from ascend_agent.model.fault import FaultLevel, Severity

Texts = tuple[str, str, str]

_DIAGNOSE: Final = "collect the driver's logs (msnpureport) and have the card examined"
NOTHING: Final = "Nothing to do."

CHIP_LEVELS: Final[Mapping[FaultLevel, Texts]] = MappingProxyType(
    {
        FaultLevel.NOT_HANDLE: (
            "for information",
            "The NPU stays in service.",
            f"{NOTHING} If it comes often, {_DIAGNOSE}.",
        ),
        FaultLevel.SUB_HEALTH: (
            "degraded",
            "The NPU works, though worse than it should, and stays in service.",
            f"Move important jobs to other NPUs when it suits, then {_DIAGNOSE}.",
        ),
        FaultLevel.RESTART_REQUEST: (
            "request failed",
            (
                "What just ran on the NPU failed and has to be asked for again; until the fault is "
                "gone, nothing new is placed on it."
            ),
            "Repeat the request. If the fault stays, restart the job.",
        ),
        FaultLevel.RESTART_BUSINESS: (
            "job has to be restarted",
            (
                "The job that uses the NPU can't go on; until the fault is gone, nothing new is "
                "placed on it."
            ),
            "Restart the job. If the fault stays, reset the NPU once no job uses it.",
        ),
        FaultLevel.FREE_RESTART_NPU: (
            "reset needed, once the NPU is idle",
            "The NPU is out of service as long as the fault stands, and a reset is what ends it.",
            "Let its job end, then reset the NPU (npu-smi set -t reset).",
        ),
        FaultLevel.RESTART_NPU: (
            "reset needed",
            (
                "The job that uses the NPU can't go on. The NPU is out of service as long as the "
                "fault stands, and a reset is what ends it."
            ),
            "Stop the job that uses the NPU, then reset it (npu-smi set -t reset).",
        ),
        FaultLevel.PRE_SEPARATE_NPU: (
            "no new jobs",
            "The job that uses the NPU may go on; once it has ended, the NPU is out of service.",
            f"Let the job end, then {_DIAGNOSE}.",
        ),
        FaultLevel.SEPARATE_NPU: (
            "isolated",
            "No restart and no reset helps: the NPU is out of service as long as the fault stands.",
            f"Move its job to another NPU, then {_DIAGNOSE}; it may have to be replaced.",
        ),
        FaultLevel.MANUALLY_SEPARATE_NPU: (
            "isolated by a rule",
            (
                "It failed too often: the NPU stays out of service even when no fault stands, "
                "until people release it or the rule's time is over."
            ),
            f"Before releasing it (docs/faults.md says how), {_DIAGNOSE}.",
        ),
    }
)

NETWORK_LEVELS: Final[Mapping[FaultLevel, Texts]] = MappingProxyType(
    {
        FaultLevel.NOT_HANDLE: (
            "network: for information",
            "The NPU's network counts as fit.",
            f"{NOTHING} If it comes often, examine cable, transceiver and switch port.",
        ),
        FaultLevel.SUB_HEALTH: (
            "network degraded",
            "The NPU's network works, though worse than it should, and counts as fit.",
            "Examine cable, transceiver and switch port when it suits.",
        ),
        FaultLevel.PRE_SEPARATE_NPU: (
            "network unfit",
            (
                "The NPU's network counts as unfit: jobs that need it should go elsewhere. The NPU "
                "itself stays in service."
            ),
            "Examine cable, transceiver and switch port.",
        ),
        FaultLevel.SEPARATE_NPU: (
            "network isolated",
            (
                "The NPU's network counts as unfit as long as the fault stands: jobs that need it "
                "must go elsewhere. The NPU itself stays in service."
            ),
            "Examine cable, transceiver and switch port; the NPU's own port may be broken.",
        ),
        FaultLevel.MANUALLY_SEPARATE_NPU: (
            "network isolated by a rule",
            (
                "The network failed too often: it counts as unfit even when no fault stands, until "
                "people release the NPU or the rule's time is over. The NPU itself stays in "
                "service."
            ),
            (
                "Examine cable, transceiver and switch port before releasing it (docs/faults.md "
                "says how)."
            ),
        ),
    }
)

ROLES: Final[Mapping[Role, Texts]] = MappingProxyType(
    {
        Role.CARD_DROP: (
            "NPU lost",
            "The driver no longer reaches the NPU: it dropped off its bus, or somebody resets it.",
            (
                "If it does not come back within minutes, examine its seat, power and PCIe link, "
                "and restart the node."
            ),
        ),
        Role.RESET_FINISHED: (
            "reset finished",
            "The NPU has been reset, and everything known about it is read again.",
            NOTHING,
        ),
        Role.ROCE_LINK_DOWN: (
            "RoCE link down",
            "The network port of the NPU has no link.",
            "Examine cable, transceiver and switch port (hccn_tool -i NPU -link -g).",
        ),
        Role.UBOE_PORT_DOWN: (
            "UBoE port down",
            "A network port of the NPU has no link.",
            "Examine cable, transceiver and switch port.",
        ),
        Role.ONE_BONDING_PORT_DOWN: (
            "one of two network ports down",
            "One of the NPU's two bonded network ports has no link; the other one carries on.",
            "Examine cable, transceiver and switch port of the one that is down.",
        ),
        Role.TWO_BONDING_PORTS_DOWN: (
            "both network ports down",
            "Neither of the NPU's bonded network ports has a link.",
            "Examine cables, transceivers and switch ports.",
        ),
        Role.UB_PORT_DOWN: (
            "UB port down",
            (
                "A port through which the NPU reaches others by UB has no link; a second code says "
                "whether this NPU alone is concerned."
            ),
            "",
        ),
        Role.UB_OF_THIS_CHIP_DOWN: (
            "UB of this NPU down",
            "The NPU has lost UB links that other NPUs of the node still have.",
            "Examine the UB cabling of the NPU; it comes back with its links.",
        ),
        Role.UB_OF_ALL_CHIPS_DOWN: (
            "UB of all NPUs down",
            "All NPUs of the node have lost UB links, so the cause lies outside of them.",
            "Examine what connects the node to others by UB.",
        ),
        Role.HBM_DOUBLE_BIT: (
            "HBM error that could not be corrected",
            "Two bits of the NPU's memory were wrong at once; what was computed with them is lost.",
            "",
        ),
        Role.HBM_CONTROLLER_PARITY: (
            "parity error in the HBM controller",
            "The controller of the NPU's memory found an error in itself.",
            "",
        ),
        Role.AIC_BUS_ERROR: (
            "bus error of an AI cube core",
            "An access of an AI core failed on its way; an HBM error at the same time causes it.",
            "",
        ),
        Role.AIV_BUS_ERROR: (
            "bus error of an AI vector core",
            (
                "An access of a vector core failed on its way; an HBM error at the same time "
                "causes it."
            ),
            "",
        ),
        Role.HANG: (
            "job seems to hang",
            (
                "Processes hold the NPU, and for minutes neither its cores, memory and traffic nor "
                "their CPU time have moved. An idle server looks the same."
            ),
            "Look at the job: restart it if it should be working.",
        ),
        Role.DPU_SUB_HEALTH: (
            "DPU NIC degraded",
            "One of the DPU NICs that the NPU uses is down. The NPU itself stays in service.",
            "Examine the interface (ip link) and its cable.",
        ),
    }
)

SEVERITIES: Final[Mapping[Severity | None, str]] = MappingProxyType(
    {
        None: "Without a severity it is taken for the worst; of a warning or a minor fault only "
        "a report would follow.",
        Severity.WARNING: "The driver calls it a warning.",
        Severity.MINOR: "The driver calls it minor.",
        Severity.MAJOR: "The driver calls it major.",
        Severity.CRITICAL: "The driver calls it critical.",
    }
)
