"""Names as other programs write them, letter by letter."""

from ascend_agent.sim.hami import words
from tests.sim.hami.pods import pod


def test_names_of_a_chips_annotations() -> None:
    assert [
        words.register("Ascend310P"),
        words.handshake("Ascend310P"),
        words.to_allocate("Ascend310P"),
        words.allocated("Ascend310P"),
        words.runtime_info("Ascend310P"),
        words.wanted("Ascend310P"),
        words.unwanted("Ascend310P"),
    ] == [
        "hami.io/node-register-Ascend310P",
        "hami.io/node-handshake-Ascend310P",
        "hami.io/Ascend310P-devices-to-allocate",
        "hami.io/Ascend310P-devices-allocated",
        "huawei.com/Ascend310P",
        "hami.io/use-Ascend310P-uuid",
        "hami.io/no-use-Ascend310P-uuid",
    ]


def test_a_pod_is_soft_by_its_annotation() -> None:
    assert words.is_soft(pod(soft=True))
    assert not words.is_soft(pod())
    assert words.annotations_of({"metadata": {}}) == {}
