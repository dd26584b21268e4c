import pytest

from ascend_agent.driver.answers import Reply, address_args, driver_error, format_place
from ascend_agent.errors import (
    DriverBusyError,
    DriverError,
    NotSupportedError,
    NpuLostError,
)
from ascend_agent.model.ids import CardId, LogicId, SlotId
from ascend_agent.model.npu import NpuAddress

V1 = NpuAddress(card=CardId(2), slot=SlotId(1), logic=LogicId(5), lane=2)
V2 = NpuAddress(card=None, slot=None, logic=LogicId(5), lane=5)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-8012, NpuLostError),
        (-8008, NpuLostError),
        (-8255, NotSupportedError),
        (-99998, NotSupportedError),
        (-8017, DriverBusyError),
        (-8020, DriverBusyError),
        (-8005, DriverError),
        (-8007, DriverError),  # our mistake, not the chip's absence
        (-1, DriverError),
    ],
)
def test_a_return_code_becomes_the_error_that_says_what_to_do(
    code: int, kind: type[DriverError]
) -> None:
    error = driver_error(code, call="dcmi_get_device_health", where="card 2 chip 1")

    assert type(error) is kind
    assert (error.code, error.call) == (code, "dcmi_get_device_health")
    assert str(error).startswith(f"dcmi_get_device_health on card 2 chip 1 answered {code}: ")


def test_a_code_is_told_in_words_unless_the_worker_knows_more() -> None:
    """IM-3: few know the driver's numbers."""
    assert str(driver_error(-8005, call="dcmi_init", where="")).endswith("-8005: inner error")
    assert str(driver_error(-8005, call="dcmi_init", where="", detail="no card")).endswith(
        "-8005: no card"
    )


def test_a_failing_answer_raises_with_the_call_that_failed() -> None:
    """An operation is a chain of calls; the operator looks for the one that answered."""
    fields = {"rc": -8005, "call": "dcmi_get_device_chip_info_v2", "detail": "inner error"}

    with pytest.raises(DriverError, match="dcmi_get_device_chip_info_v2 on x answered -8005"):
        Reply(fields, op="identity", where="x")


def test_an_answer_without_a_call_is_named_by_its_operation() -> None:
    with pytest.raises(NpuLostError, match=r"^usage answered -8012: not ready"):
        Reply({"rc": -8012}, op="usage", where="")


def test_fields_are_what_they_should_be() -> None:
    answer = Reply(
        {"rc": 0, "phy": 3, "name": "910B3", "die": None, "codes": [1]}, op="identity", where=""
    )

    assert (answer.number("phy"), answer.number_or_none("phy")) == (3, 3)
    assert (answer.text("name"), answer.text_or_none("name")) == ("910B3", "910B3")
    assert (answer.number_or_none("die"), answer.text_or_none("die")) == (None, None)
    assert answer.items("codes") == [1]


@pytest.mark.parametrize("method", ["number", "number_or_none", "text", "text_or_none", "items"])
def test_a_field_of_the_wrong_type_is_an_error_of_the_driver(method: str) -> None:
    """It must end one call, not the flow that made it; and a long value must not fill the log."""
    answer = Reply({"rc": 0, "field": {"x": "y" * 500}}, op="identity", where="card 2 chip 1")

    with pytest.raises(DriverError, match="malformed field") as caught:
        getattr(answer, method)("field")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("method", ["number", "text", "items"])
def test_a_field_that_is_not_there_is_an_error_of_the_driver(method: str) -> None:
    with pytest.raises(DriverError, match="malformed phy: None"):
        getattr(Reply({"rc": 0}, op="identity", where=""), method)("phy")


def test_an_answer_without_return_code_is_malformed() -> None:
    with pytest.raises(DriverError, match="malformed rc"):
        Reply({}, op="identity", where="")


def test_addresses_are_spelled_for_the_worker_and_for_people() -> None:
    assert (address_args(V1), format_place(V1)) == ((2, 1, 5), "card 2 chip 1")
    assert (address_args(V2), format_place(V2)) == ((-1, -1, 5), "logic id 5")
