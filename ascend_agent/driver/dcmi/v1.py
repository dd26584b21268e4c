"""API generation 1: chips are addressed by card and slot. All products before the 950.

Source: DCMI API, enumeration.
"""

import ctypes

from ascend_agent.driver.dcmi import abi, codes
from ascend_agent.driver.dcmi.library import Library
from ascend_agent.driver.dcmi.session import Chip, Generation, Result

_CARDS = abi.LIMITS["max_cards"]
_SLOTS = abi.LIMITS["max_devices_per_card"]

_LIST = "dcmi_get_card_list"
_COUNT = "dcmi_get_device_num_in_card"
_LOGIC = "dcmi_get_device_logic_id"


class V1(Generation):
    """The functions named ``dcmi_*``."""

    api = "v1"
    init = "dcmi_init"
    die_type = abi.ENUMS["dcmi_die_type"]["VDIE"]
    moves = False
    every_chip = (-1, -1)
    calls = {  # noqa: RUF012 -- a table, never changed
        "dcmi_version": "dcmi_get_dcmi_version",
        "driver_version": "dcmi_get_driver_version",
        "physical_id": "dcmi_get_device_phyid_from_logicid",
        "chip_info": "dcmi_get_device_chip_info_v2",
        "chip_info_old": "dcmi_get_device_chip_info",
        "board": "dcmi_get_device_board_info",
        "mainboard": "dcmi_get_mainboard_id",
        "product": "dcmi_get_product_type",
        "die": "dcmi_get_device_die_v2",
        "pcie": "dcmi_get_device_pcie_info_v2",
        "hbm": "dcmi_get_device_hbm_info",
        "ddr": "dcmi_get_device_memory_info_v3",
        "affinity": "dcmi_get_affinity_cpu_info_by_device_id",
        "health": "dcmi_get_device_health",
        "fault_codes": "dcmi_get_device_errorcode_v2",
        "processes": "dcmi_get_device_resource_info",
        "multi_use_period": "dcmi_get_device_multi_utilization_rate_period",
        "multi_use": "dcmi_get_device_multi_utilization_rate",
        "use": "dcmi_get_device_utilization_rate",
        "share_get": "dcmi_get_device_share_enable",
        "share_set": "dcmi_set_device_share_enable",
        "info": "dcmi_get_device_info",
        "vnpu_destroy": "dcmi_set_destroy_vdevice",
        "subscribe": "dcmi_subscribe_fault_event",
    }
    required = (
        _LIST,
        _COUNT,
        _LOGIC,
        "dcmi_get_device_phyid_from_logicid",
        "dcmi_get_device_chip_info",
        "dcmi_get_device_health",
        "dcmi_get_device_errorcode_v2",
    )

    def address(self, chip: Chip) -> tuple[int, ...]:
        """Return card and slot."""
        return chip[:2]

    def list_chips(self, library: Library) -> Result:
        """Return the cards of the snapshot; one that can't be listed is named, not fatal."""
        count, ids = ctypes.c_int(), (ctypes.c_int * _CARDS)()
        # Count, list, capacity: the other generation has list and count the other way round.
        if rc := library.call(_LIST, ctypes.byref(count), ids, _CARDS):
            return {"rc": rc, "call": _LIST}
        if not 0 <= count.value <= _CARDS:
            return {"rc": codes.INVALID_ANSWER, "call": _LIST}
        cards = ids[: count.value]
        chips: list[list[int]] = []
        failed: list[list[object]] = []
        for card in cards:
            if card >= 0:
                _list_card(library, card, chips, failed)
        return {
            "rc": codes.OK,
            "chips": chips,
            "cards": len(cards),
            "lost_cards": sum(card < 0 for card in cards),
            "failed": failed,
        }


def _list_card(
    library: Library, card: int, chips: list[list[int]], failed: list[list[object]]
) -> None:
    """Append the chips of *card* to *chips*, and what could not be read of it to *failed*."""
    number = ctypes.c_int()
    rc = library.call(_COUNT, card, ctypes.byref(number))
    if rc == codes.OK and not 1 <= number.value <= _SLOTS:
        rc = codes.INVALID_ANSWER
    if rc != codes.OK:
        failed.append([card, _COUNT, rc])
        return
    for slot in range(number.value):
        logic = ctypes.c_int(-1)
        rc = library.call(_LOGIC, ctypes.byref(logic), card, slot)
        if rc == codes.OK and logic.value < 0:
            rc = codes.INVALID_ANSWER
        if rc == codes.OK:
            chips.append([card, slot, logic.value, card])
        else:
            failed.append([card, _LOGIC, rc])
