import pytest

from ascend_agent.driver.inventory import DriverInventory
from ascend_agent.errors import DriverError, NpuLostError
from ascend_agent.model.ids import CardId, DieId, LogicId, PhyId, SlotId
from ascend_agent.model.npu import ChipIdentity, Enumeration, NpuAddress, NpuIdentity
from tests.driver.readers import ADDRESS, answering, ask

_LIST = {"rc": 0, "chips": [[2, 1, 5, 2]], "cards": 3, "lost_cards": 1, "failed": []}
_IDENTITY = {
    "rc": 0,
    "phy": 7,
    "logic": 5,
    "chip_type": "Ascend",
    "chip_name": "910B3",
    "npu_name": "910B3",
    "chip_version": "V1",
    "ai_cores": 20,
    "board_id": 0x32,
    "board_slot": 2,
    "mainboard_id": 1,
    "product": None,
    "die": "1A2B3C4D-00000005-DEADBEEF-00000000-00FF00FF",
    "bus": "0000:C1:00.0",
    "memory_mib": 65536,
    "memory_kind": "hbm",
    "affinity": "0-23",
    "unavailable": {"product": -8255},
}
_NPU = NpuIdentity(
    phy=PhyId(7),
    address=ADDRESS,
    chip=ChipIdentity(
        chip_type="Ascend",
        chip_name="910B3",
        npu_name="910B3",
        chip_version="V1",
        board_id=0x32,
        mainboard_id=1,
        product=None,
    ),
    die=DieId("1A2B3C4D-00000005-DEADBEEF-00000000-00FF00FF"),
    bus="0000:C1:00.0",
    memory_mib=65536,
    ai_cores=20,
    affinity="0-23",
)


async def _enumerate(**changes: object) -> Enumeration:
    return await ask(
        lambda worker: DriverInventory(worker).enumerate(reinitialise=False),
        enumerate={**_LIST, **changes},
    )


async def _identify(**changes: object) -> NpuIdentity:
    return await ask(
        lambda worker: DriverInventory(worker).read_identity(ADDRESS),
        identity={**_IDENTITY, **changes},
    )


async def test_a_list_names_what_it_could_not_read() -> None:
    """HL-3: card by card; what is missing is told, not dropped."""
    listed = await _enumerate(failed=[[4, "dcmi_get_device_num_in_card", -8005]])

    assert listed == Enumeration(
        addresses=(ADDRESS,),
        cards=3,
        lost_cards=1,
        unreadable=((CardId(4), "dcmi_get_device_num_in_card", -8005),),
    )


async def test_the_second_generation_has_no_card_and_slot() -> None:
    listed = await _enumerate(chips=[[-1, -1, 5, 5]])

    assert listed.addresses == (NpuAddress(card=None, slot=None, logic=LogicId(5), lane=5),)


async def test_slot_numbers_start_at_zero() -> None:
    listed = await _enumerate(chips=[[0, 0, 0, 0]])

    assert listed.addresses[0].slot == SlotId(0)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"rc": -8005, "call": "dcmi_get_card_list"}, "dcmi_get_card_list answered -8005"),
        ({"chips": [[1, 2, 3]]}, "malformed chips"),
        ({"chips": None}, "malformed chips"),
        ({"failed": [["4", "x", -1]]}, "malformed failed"),
        ({"cards": "three"}, "malformed cards"),
        ({"lost_cards": None}, "malformed lost_cards"),
    ],
)
async def test_a_list_that_is_none_is_an_error(changes: dict[str, object], text: str) -> None:
    with pytest.raises(DriverError, match=text):
        await _enumerate(**changes)


async def test_an_identity_is_what_the_chip_told() -> None:
    async with answering(identity=_IDENTITY) as (worker, script):
        identity = await DriverInventory(worker).read_identity(ADDRESS)
        request = script.worker.requests[-1]

    assert identity == _NPU
    assert (request["lane"], request["op"], request["args"]) == (2, "identity", [2, 1, 5])


async def test_what_a_chip_does_not_tell_is_absent() -> None:
    untold = dict.fromkeys(
        ("board_id", "mainboard_id", "product", "die", "bus", "memory_mib", "affinity")
    )

    identity = await _identify(**untold, ai_cores=0)

    assert (identity.die, identity.bus, identity.memory_mib, identity.affinity) == (None,) * 4
    assert (identity.chip.board_id, identity.chip.mainboard_id) == (None, None)
    assert identity.ai_cores is None


@pytest.mark.parametrize("field", ["phy", "chip_name", "npu_name", "chip_type", "chip_version"])
async def test_without_its_name_or_number_a_chip_is_nothing(field: str) -> None:
    with pytest.raises(DriverError, match=f"malformed {field}: None"):
        await _identify(**{field: None})


async def test_a_lost_chip_has_no_identity() -> None:
    with pytest.raises(NpuLostError, match="card 2 chip 1"):
        await _identify(rc=-8012, call="dcmi_get_device_chip_info_v2")
