"""The bus holds what its fields declare, and nothing that two could write."""

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import WiringError
from ascend_agent.model.ids import ResourceName
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.topic import Topic

_NPU = ResourceName("huawei.com/npu")
_ASCEND910 = ResourceName("huawei.com/Ascend910")


def test_every_declared_channel_is_there_and_of_its_kind() -> None:
    """A field that is declared and never made would fail on a node, at its first use."""
    bus = Bus([_NPU])
    kinds = {"Topic": Topic, "Latest": Latest}

    for name, declared in Bus.__annotations__.items():
        kind = kinds.get(declared.__origin__.__name__)
        channel = getattr(bus, name)
        assert isinstance(channel, kind) if kind else set(channel) == {_NPU}


def test_each_resource_has_a_channel_of_its_own() -> None:
    bus = Bus([_NPU, _ASCEND910])

    assert set(bus.serving) == {_NPU, _ASCEND910}
    assert bus.serving[_NPU] is not bus.serving[_ASCEND910]


def test_a_second_writer_is_refused_and_both_are_named() -> None:
    bus = Bus([])
    bus.faults.claim("subscribe-faults")

    with pytest.raises(WiringError, match=r"intruder.*faults.*subscribe-faults"):
        bus.faults.claim("intruder")
