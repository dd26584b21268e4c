from ascend_agent.driver.simulated.node import SimulatedNode
from ascend_agent.driver.simulated.vnpus import SimulatedVnpus

_LEAK = {"at_s": 1, "npu": 0, "vnpu": 101, "template": "vir04"}


def _vnpus(*steps: object, chip: str = "310P3") -> SimulatedVnpus:
    return SimulatedVnpus(SimulatedNode({"chip": chip, "npus": 2, "seed": 7, "steps": list(steps)}))


def _read(vnpus: SimulatedVnpus, now_ms: int, *, phy: int = 0) -> object:
    return vnpus.answer("vnpus_read", phy, (), now_ms)["vnpus"]


def test_vnpus_are_listed_by_id_from_their_step_on() -> None:
    vnpus = _vnpus(_LEAK, {**_LEAK, "vnpu": 100, "opened": True, "container": 7, "at_s": 2})

    assert [_read(vnpus, ms) for ms in (999, 1000, 2000)] == [
        [],
        [[101, "vir04", 0, 0]],
        [[100, "vir04", 1, 7], [101, "vir04", 0, 0]],
    ]
    assert _read(vnpus, 2000, phy=1) == []


def test_what_was_destroyed_is_gone_until_it_is_made_anew() -> None:
    """That it changed meanwhile, by the scenario, does not bring it back."""
    vnpus = _vnpus(
        _LEAK,
        {**_LEAK, "at_s": 3, "container": 7},
        {"at_s": 5, "npu": 0, "vnpu": 101, "gone": True},
        {**_LEAK, "at_s": 6},
    )

    assert vnpus.answer("vnpus_destroy", 0, (101,), 2000) == {"rc": 0}
    assert [_read(vnpus, ms) for ms in (2000, 4000, 6000)] == [[], [], [[101, "vir04", 0, 0]]]


def test_what_is_gone_already_can_be_destroyed_and_what_is_open_can_not() -> None:
    vnpus = _vnpus({**_LEAK, "opened": True})

    assert vnpus.answer("vnpus_destroy", 0, (102,), 1000) == {"rc": 0}
    assert vnpus.answer("vnpus_destroy", 0, (101,), 1000)["rc"] == -8020
    assert _read(vnpus, 1000) == [[101, "vir04", 1, 0]]


def test_a_number_that_is_no_vnpu_is_refused() -> None:
    vnpus = _vnpus(_LEAK)

    assert [vnpus.answer("vnpus_destroy", 0, (n,), 1000)["rc"] for n in (99, 1124, 0xFFFF)] == [
        -8001
    ] * 3
    assert _read(vnpus, 1000) == [[101, "vir04", 0, 0]]


def test_a_chip_that_can_not_be_cut_says_so() -> None:
    vnpus = _vnpus(chip="910C")

    assert vnpus.answer("vnpus_read", 0, (), 0)["rc"] == -8255
    assert vnpus.answer("vnpus_destroy", 0, (101,), 0)["rc"] == -8255
