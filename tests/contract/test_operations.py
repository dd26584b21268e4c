"""The operations as the worker answers them: names and types of every field.

Adapters read these with care; what they don't read (``call``, ``detail``, ``unavailable``) is for
people and logs, and must be there all the same.
"""

from tests.contract.drivers import Driver, patient
from tests.contract.node import Node
from tests.contract.steps import Fault

CODE = 0x80E01801

OPTIONAL_NUMBER = (int, type(None))
OPTIONAL_TEXT = (str, type(None))
FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "identity": {
        "phy": (int,),
        "logic": (int,),
        "chip_type": (str,),
        "chip_name": (str,),
        "npu_name": (str,),
        "chip_version": (str,),
        "ai_cores": (int,),
        "board_id": OPTIONAL_NUMBER,
        "board_slot": OPTIONAL_NUMBER,
        "mainboard_id": OPTIONAL_NUMBER,
        "product": OPTIONAL_TEXT,
        "die": OPTIONAL_TEXT,
        "bus": OPTIONAL_TEXT,
        "memory_mib": OPTIONAL_NUMBER,
        "memory_kind": OPTIONAL_TEXT,
        "affinity": OPTIONAL_TEXT,
        "unavailable": (dict,),
    },
    "health": {
        "health_rc": (int,),
        "health": (int,),
        "codes_rc": (int,),
        "codes": (list,),
        "phy": OPTIONAL_NUMBER,
    },
    "usage": {
        "memory_mib": OPTIONAL_NUMBER,
        "memory_used_mib": OPTIONAL_NUMBER,
        "ai_core_percent": OPTIONAL_NUMBER,
        "vector_percent": OPTIONAL_NUMBER,
        "npu_percent": OPTIONAL_NUMBER,
    },
    "processes": {"processes": (list,)},
    "share_read": {"enabled": (int,)},
}


def assert_fields(op: str, answer: dict[str, object]) -> None:
    """Check that an answer has exactly the fields of its operation."""
    expected = FIELDS[op]

    assert answer.pop("rc") == 0
    assert answer.keys() == expected.keys()
    wrong = {name: answer[name] for name in answer if not isinstance(answer[name], expected[name])}
    assert wrong == {}


async def test_every_answer_of_a_chip_has_its_fields_and_no_others(driver: Driver) -> None:
    async with driver.open() as node:
        (address, *_) = (await node.inventory.enumerate(reinitialise=False)).addresses
        for op in FIELDS:
            answer = await node.ask_chip(address, op)
            if op == "share_read" and answer["rc"] == -8255:
                continue  # not needed there
            assert_fields(op, answer)


async def test_an_open_library_says_which_it_is(driver: Driver) -> None:
    async with driver.open() as node:
        answer = await node.ask("node", "open")

        assert answer["rc"] == 0
        assert answer["api"] in {"v1", "v2"}
        assert isinstance(answer["library"], str)
        assert isinstance(answer["dcmi_version"], str)
        assert isinstance(answer["driver_version"], str)


async def test_what_a_chip_does_not_tell_is_named_with_its_code(any_chip: Driver) -> None:
    """Product names exist outside the 910 family only."""
    async with any_chip.open(chip="910B3", npus=1) as node:
        answer = await _only(node, "identity")
        unavailable = answer["unavailable"]

        assert isinstance(unavailable, dict)
        assert [code for name, code in unavailable.items() if "product" in name] == [-8255]


async def test_a_failed_operation_names_the_call(driver: Driver) -> None:
    async with driver.open() as node:
        chip = (61, 3, 250) if node.state.api and node.state.api.value == "v1" else (-1, -1, 250)

        answer = await node.ask(61, "identity", *chip)

        assert isinstance(answer["rc"], int)
        assert answer["rc"] < 0
        assert answer["call"]


@patient
async def test_an_event_is_told_with_what_people_want_to_know(telling: Driver) -> None:
    async with telling.open(Fault(npu=1, code=CODE)) as node:
        await node.happen()

        assert (await node.next_fault()).text


async def _only(node: Node, op: str) -> dict[str, object]:
    (address,) = (await node.inventory.enumerate(reinitialise=False)).addresses
    return await node.ask_chip(address, op)
