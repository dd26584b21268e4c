"""The page for people: every NPU in a row, then what is wrong and what to do."""

from dataclasses import replace

from ascend_agent.bus import Bus
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.flows.report_status import StatusReport
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import NodeView
from tests.fakes.npus import node_view
from tests.flows.health_samples import FAULTS, bad_node


def shown(view: NodeView | None, config: FaultConfigState | None = None) -> str:
    bus = Bus([])
    if view is not None:
        bus.node.claim("t").put(view)
    if config is not None:
        bus.fault_config.claim("t").put(config)
    return StatusReport(bus=bus, version="1", render_metrics=bytes).index()


def test_a_row_shows_level_codes_and_network() -> None:
    page = shown(bad_node())

    assert "<td>separated</td><td>ManuallySeparateNPU</td>" in page
    assert "<td>80E01801 (RestartBusiness), 81078603 (NotHandleFault)</td>" in page
    assert "<td>PreSeparateNPU, unfit</td>" in page


def test_what_is_wrong_is_explained_the_worst_first() -> None:
    _, _, advice = shown(bad_node()).partition("<dl>")

    assert '<dt class="out"><b>NPU 0: 80E01801 FaultFrequency, raised to' in advice
    assert "It ends when people release the NPU." in advice
    assert (
        '<dt class="out"><b>NPU 0: 80E01801 RestartBusiness, not for long, since '
        "2023-11-14 22:13:20 UTC: HBM error that could not be corrected</b></dt>"
    ) in advice
    assert "To do: Restart the job." in advice
    assert "switch 4 port 7: [0x08520003,na,npu,na] Separate" in advice
    assert "<dt><b>NPU 0, 1: DPU NIC enps0 down" in advice
    assert advice.index("raised to") < advice.index("DPU NIC enps0")


def test_a_node_that_is_well_shows_no_advice() -> None:
    assert "What is wrong" not in shown(node_view())
    assert "What is wrong" not in shown(None)


def test_the_rules_in_force_are_named_and_what_was_refused() -> None:
    """What others wrote must not become markup."""
    rules = FaultRules(catalog=BUILT_IN.catalog, source="directory <d>")
    config = FaultConfigState(rules=rules, version=1, refused=("<a>", "b"))

    assert "Fault rules: built-in</p>" in shown(None)
    assert "Fault rules: directory &lt;d&gt;; refused: &lt;a&gt;; b</p>" in shown(None, config)


def test_a_page_of_ever_more_codes_ends_somewhere() -> None:
    node = bad_node()
    faults = tuple(replace(FAULTS[0], code=FaultCode(number)) for number in range(1, 129))
    page = shown(NodeView(generation=1, npus=(replace(node.npus[1], faults=faults, dpu=None),)))

    assert page.count("<dt") == 100
    assert "And 28 more" in page
