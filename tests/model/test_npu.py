"""The names of an NPU are all that people may know it by."""

from tests.fakes.npus import npu


def test_an_npu_has_all_its_names_in_one_place() -> None:
    """OB-3: a line that carries some of them makes people repair the wrong card."""
    assert npu(3).names == {
        "npu": 3,
        "logic": 3,
        "card": 3,
        "slot": 0,
        "die": "00000003-00000005-DEADBEEF-00000000-00FF00FF",
        "bus": "0000:C3:00.0",
    }


def test_a_lost_npu_keeps_the_names_of_its_last_place() -> None:
    assert npu(3, listed=False).names == npu(3).names
