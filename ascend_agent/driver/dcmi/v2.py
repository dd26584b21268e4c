"""API generation 2: chips are addressed by logic id alone. The 950.

Source: DCMI API, enumeration of the second generation.
"""

import ctypes

from ascend_agent.driver.dcmi import abi, codes
from ascend_agent.driver.dcmi.library import Library
from ascend_agent.driver.dcmi.session import Chip, Generation, Result

_CHIPS = abi.LIMITS["max_cards"]

_LIST = "dcmiv2_get_device_list"
_TOTAL = "dcmiv2_get_all_device_count"
_TYPE = "dcmiv2_get_device_type"

_NPU = abi.ENUMS["dcmi_unit_type"]["NPU"]
_NO_NPU = abi.ENUMS["dcmi_unit_type"]["INVALID"]


class V2(Generation):
    """The functions named ``dcmiv2_*``."""

    api = "v2"
    init = "dcmiv2_init"
    # The only kind of die id this generation serves; the other one answers -8255.
    die_type = abi.ENUMS["dcmi_die_type"]["DDIE"]
    moves = True
    every_chip = (-1,)
    calls = {  # noqa: RUF012 -- a table, never changed
        "dcmi_version": "dcmiv2_get_dcmi_version",
        "driver_version": "dcmiv2_get_driver_version",
        "physical_id": "dcmiv2_get_chip_phy_id_by_dev_id",
        "chip_info": "dcmiv2_get_device_chip_info",
        "board": "dcmiv2_get_device_board_info",
        "mainboard": "dcmiv2_get_mainboard_id",
        "die": "dcmiv2_get_device_die_id",
        "pcie": "dcmiv2_get_device_pcie_info",
        "hbm": "dcmiv2_get_device_hbm_info",
        "affinity": "dcmiv2_get_affinity_cpu_info_by_dev_id",
        "health": "dcmiv2_get_device_health",
        "fault_codes": "dcmiv2_get_device_error_code_list",
        "processes": "dcmiv2_get_device_proc_mem_info",
        "multi_use_period": "dcmiv2_get_device_multi_utilization_rate_period",
        "multi_use": "dcmiv2_get_device_multi_utilization_rate",
        "use": "dcmiv2_get_device_utilization_rate",
        "share_get": "dcmiv2_get_device_share_enable",
        "share_set": "dcmiv2_set_device_share_enable",
        "info": "dcmiv2_get_device_info",
        "subscribe": "dcmiv2_subscribe_fault_event",
    }
    required = (
        _LIST,
        "dcmiv2_get_chip_phy_id_by_dev_id",
        "dcmiv2_get_device_chip_info",
        "dcmiv2_get_device_health",
        "dcmiv2_get_device_error_code_list",
    )

    def address(self, chip: Chip) -> tuple[int, ...]:
        """Return the logic id."""
        return chip[2:]

    def list_chips(self, library: Library) -> Result:
        """Return the chips of the snapshot, each a card of its own.

        One unusable chip makes the whole list fail; the others are then found one by one.
        """
        rc, logics = _list(library)
        expected = len(logics)
        if rc != codes.OK:
            logics = _probe(library)
            expected = len(logics) + 1
        if rc != codes.OK and not logics:
            return {"rc": rc, "call": _LIST}
        # In a plain container nobody may ask for the total (-8002): then the list is all there is.
        total = ctypes.c_int()
        known = library.call(_TOTAL, ctypes.byref(total)) == codes.OK
        cards = max(len(logics), total.value) if known else expected
        return {
            "rc": codes.OK,
            "chips": [[-1, -1, logic, logic] for logic in logics],
            "cards": cards,
            "lost_cards": cards - len(logics),
            "failed": [],
        }


def _list(library: Library) -> tuple[int, list[int]]:
    ids, count = (ctypes.c_int * _CHIPS)(), ctypes.c_int()
    # List, count, capacity: the other generation has list and count the other way round.
    rc = library.call(_LIST, ids, ctypes.byref(count), _CHIPS)
    if rc == codes.OK and not 0 <= count.value <= _CHIPS:
        rc = codes.INVALID_ANSWER
    return rc, [logic for logic in ids[: count.value] if logic >= 0] if rc == codes.OK else []


def _probe(library: Library) -> list[int]:
    """Return the logic ids that the snapshot knows as NPUs; touches no hardware."""
    found = []
    for logic in range(_CHIPS):
        kind = ctypes.c_uint(_NO_NPU)
        rc = library.call(_TYPE, logic, ctypes.byref(kind))
        if rc == codes.OK and kind.value == _NPU:
            found.append(logic)
    return found
