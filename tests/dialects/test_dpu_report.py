"""Literals as MindCluster's components read them (topology 5.7)."""

import json
from dataclasses import replace

from ascend_agent.dialects.dpu_report import (
    info_document,
    sub_health_faults,
    unhealthy_key,
    unhealthy_names,
)
from ascend_agent.faults.dpu_mapping import discover
from ascend_agent.faults.dpus import NO_DPUS, observe
from ascend_agent.model.ids import Millis
from ascend_agent.model.nics import DpuMapping
from ascend_agent.model.surroundings import DpuStates
from tests.fakes.dpus import a5_npus, config, nics

AT = Millis(1_754_300_000_000)


def states(*, now: Millis = AT, before: DpuStates | None = None, **cards: str) -> DpuStates:
    """Return the states of an eight-NPU node whose *cards* are in these states."""
    mapping = discover(config(), nics(), a5_npus(*range(8)), pci_paths={})
    assert isinstance(mapping, DpuMapping)
    return observe(mapping, nics(**cards), config=config(), before=before, now=now)


def test_npus_without_any_nic_are_listed() -> None:
    """G16, third row: both cards of the first half are down."""
    assert unhealthy_key("npu") == "huawei.com/npu-DPUUnhealthy"
    assert unhealthy_key("Ascend910") == "huawei.com/Ascend910-DPUUnhealthy"
    assert unhealthy_names(states(enps0="down", enps2="down"), word="npu") == (
        "npu-0,npu-1,npu-2,npu-3"
    )


def test_the_list_is_there_and_empty_where_nothing_is_wrong() -> None:
    assert unhealthy_names(states(), word="npu") == ""
    assert unhealthy_names(states(enps0="down"), word="npu") == ""
    assert unhealthy_names(None, word="Ascend910") == ""
    assert unhealthy_names(NO_DPUS, word="npu") == ""


def test_the_list_ascends_whatever_the_order_of_the_states() -> None:
    """Its readers compare texts."""
    down = states(enps0="down", enps2="down")
    turned = replace(down, health=dict(sorted(down.health.items(), reverse=True)))

    assert unhealthy_names(turned, word="npu") == unhealthy_names(down, word="npu")


def test_an_npu_with_half_its_nics_has_a_fault_entry() -> None:
    told = sub_health_faults(states(enps2="down"), word="npu")

    assert [entry["npu_name"] for entry in told] == ["npu-0", "npu-1", "npu-2", "npu-3"]
    assert json.dumps(told[:1], separators=(",", ":")) == (
        '[{"fault_type":"DpuSubhealthy","npu_name":"npu-0",'
        '"large_model_fault_level":"NotHandleFault","fault_level":"NotHandleFault",'
        '"fault_handling":"NotHandleFault","fault_code":"200001001",'
        '"fault_time_and_level_map":{"200001001":'
        '{"fault_time":1754300000000,"fault_level":"NotHandleFault"}}}]'
    )


def test_one_without_any_has_no_entry_and_neither_has_a_healthy_one() -> None:
    assert sub_health_faults(states(enps0="down", enps2="down"), word="npu") == []
    assert sub_health_faults(states(), word="npu") == []
    assert sub_health_faults(None, word="npu") == []
    assert sub_health_faults(NO_DPUS, word="npu") == []


def test_the_time_of_an_entry_is_that_of_the_change() -> None:
    """Topology 5.9.9: the peer's moves on at every poll, and only its reader knows not to look."""
    first = states(enps2="down")
    later = states(enps2="down", now=Millis(AT + 60_000), before=first)

    assert sub_health_faults(later, word="npu") == sub_health_faults(first, word="npu")


def test_the_document_lists_cards_and_whose_they_are() -> None:
    document = info_document(states(enps2="down", now=AT), now=AT)

    assert json.dumps(document, separators=(",", ":")) == (
        '{"BusType":"ub","DPUList":['
        '{"Name":"enps0","Operstate":"up","DeviceID":"0x1825","VendorID":"0x10b5"},'
        '{"Name":"enps1","Operstate":"up","DeviceID":"0x1825","VendorID":"0x10b5"},'
        '{"Name":"enps2","Operstate":"down","DeviceID":"0x1825","VendorID":"0x10b5"},'
        '{"Name":"enps3","Operstate":"up","DeviceID":"0x1825","VendorID":"0x10b5"}],'
        '"NpuToDpusMap":{"0":["enps0","enps2"],"1":["enps0","enps2"],"2":["enps0","enps2"],'
        '"3":["enps0","enps2"],"4":["enps1","enps3"],"5":["enps1","enps3"],'
        '"6":["enps1","enps3"],"7":["enps1","enps3"]},"UpdateTime":1754300000}'
    )


def test_without_a_mapping_there_is_no_document() -> None:
    """The collector refuses one without a bus type, and logs that each time."""
    assert info_document(None, now=AT) is None
    assert info_document(NO_DPUS, now=AT) is None
