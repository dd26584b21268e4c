"""The texts of errors name what a person needs: the call, the code, the place."""

import pytest

from ascend_agent.errors import (
    AgentError,
    DriverError,
    LaggedError,
    NpuLostError,
    NpuUnresponsiveError,
    RestartBudgetSpentError,
    TaskEndedError,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DriverError("dcmi_init", -8005), "dcmi_init answered -8005"),
        (
            NpuLostError("dcmi_get_device_health", -8012, "npu 3"),
            "dcmi_get_device_health on npu 3 answered -8012",
        ),
        (
            DriverError("dcmi_init", -8005, "card 1", "the other library failed too"),
            "dcmi_init on card 1 answered -8005: the other library failed too",
        ),
        (
            NpuUnresponsiveError("health", -8006, "lane 3", "nothing within 3 s"),
            "health on lane 3 got no answer: nothing within 3 s",
        ),
        (LaggedError("faults", 12), "reader of faults missed 12 events"),
        (TaskEndedError("fold-health"), "task fold-health ended by itself"),
        (RestartBudgetSpentError("fold-health", 7), "task fold-health failed 7 times in a row"),
    ],
)
def test_an_error_says_what_failed_where_and_how(error: AgentError, text: str) -> None:
    assert str(error) == text


def test_a_driver_error_keeps_its_facts_for_whoever_catches_it() -> None:
    """Nothing may have to read them back from the text."""
    error = NpuLostError("dcmi_get_device_health", -8012, "npu 3")

    assert (error.call, error.code, error.where) == ("dcmi_get_device_health", -8012, "npu 3")


def test_a_reader_that_lagged_learns_how_much_it_missed() -> None:
    assert LaggedError("faults", 12).missed == 12
