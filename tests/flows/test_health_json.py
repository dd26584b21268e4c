"""What programs read of health in ``/status``; docs/status.md promises each of these keys."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ascend_agent.bus import Bus
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.dpus import NO_DPUS
from ascend_agent.flows.health_json import describe_dpus, describe_health, describe_switches
from ascend_agent.flows.report_status import StatusReport
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.cluster import ApiPhase, ApiState
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.ids import CardId, Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import InstancePhase, InstanceState, ServingPhase, ServingState
from ascend_agent.model.npu import DriverPhase, DriverState, UnknownChip, UnreadCard
from ascend_agent.model.pods import Pods
from ascend_agent.model.tasks import TaskState
from tests.fakes.cluster import node_object
from tests.fakes.npus import CHIP, address, view
from tests.flows.hami_told import REGISTRATION, STATE, SWEEP, with_hidden
from tests.flows.health_samples import HBM, bad_node
from tests.house.sources import ROOT

EXPLAINED = (".title", ".meaning", ".action")
RESOURCE = ResourceName("huawei.com/Ascend910")


def loaded(described: object) -> Any:
    """Return *described* as a program reads it."""
    return json.loads(json.dumps(described))


def npu(rules: FaultRules = BUILT_IN) -> Any:
    node = bad_node()
    return loaded(describe_health(node.npus[0], rules=rules, dpus=node.dpus))


def test_a_fault_is_told_with_what_it_means_and_what_to_do() -> None:
    hbm, link = npu()["faults"]

    assert hbm == {
        "code": "80E01801",
        "level": "RestartBusiness",
        "isolates": True,
        "since_ms": 1_700_000_000_000,
        "plane": "chip",
        "source": "driver",
        "lasting": False,
        "title": "HBM error that could not be corrected",
        "meaning": hbm["meaning"],
        "action": hbm["action"],
    }
    assert "memory were wrong at once" in hbm["meaning"]
    assert hbm["action"].startswith("Restart the job.")
    assert (link["plane"], link["source"], link["lasting"]) == ("network", "link", True)
    assert "network" in link["meaning"]


def test_codes_are_spelled_as_the_rules_in_force_spell_them() -> None:
    """What people look up must be what stands in their own file."""
    rules = FaultRules(catalog=Catalog(levels={}, spellings={HBM: "080E01801"}))
    described = npu(rules)

    assert [fault["code"] for fault in described["faults"]] == ["080E01801", "81078603"]
    assert [each["code"] for each in described["upgrades"]] == ["080E01801"]


def test_a_raised_level_says_its_rule_and_how_it_ends() -> None:
    (upgrade,) = npu()["upgrades"]

    assert {
        key: upgrade[key] for key in ("code", "kind", "level", "since_ms", "ends", "title")
    } == {
        "code": "80E01801",
        "kind": "FaultFrequency",
        "level": "ManuallySeparateNPU",
        "since_ms": 4,
        "ends": "when people release the NPU",
        "title": "too often",
    }


def test_every_reason_is_told_in_words_too() -> None:
    described = npu()

    assert described["reasons"] == ["fault", "manually-separated"]
    assert [(why["reason"], bool(why["action"])) for why in described["why"]] == [
        ("fault", True),
        ("manually-separated", True),
    ]


def test_all_else_about_an_npu_is_told() -> None:
    described = npu()

    assert (described["level"], described["in_use"]) == ("ManuallySeparateNPU", True)
    assert (described["kept"], described["reset"]) == ([3, 40], "verifying")
    network, dpu = described["network"], described["dpu"]
    assert (network["healthy"], network["level"]) == (False, "PreSeparateNPU")
    assert network["title"] == "network unfit"
    assert (dpu["health"], dpu["nics"]) == ("SubHealthy", ["enps0", "enps2"])
    assert dpu["title"] == "DPU NIC degraded"


def test_an_npu_that_is_well_has_nothing_to_explain() -> None:
    described = describe_health(view(0), rules=BUILT_IN, dpus=None)

    assert [key for key, value in described.items() if value in ([], None)] == [
        "level",
        "reasons",
        "why",
        "faults",
        "upgrades",
        "kept",
        "reset",
        "dpu",
    ]
    assert described["network"] == {"healthy": True, "level": None}


def test_switches_are_told_port_by_port() -> None:
    described = loaded(describe_switches(bad_node().switches, BUILT_IN))
    (fault,) = described["faults"]

    assert (described["health"], described["level"]) == ("UnHealthy", "Separate")
    assert described["complete"] is False
    assert {key: fault[key] for key in ("code", "level", "since_ms", "chip", "port", "peer")} == {
        "code": "[0x08520003,na,npu,na]",
        "level": "Separate",
        "since_ms": 6,
        "chip": 4,
        "port": 7,
        "peer": 1,
    }
    assert fault["title"] == "link down of a switch port towards an NPU"
    assert fault["meaning"] == "The node counts as unhealthy as long as the fault stands."


def test_dpu_nics_are_told_with_the_npus_that_use_them() -> None:
    (first, *_) = loaded(describe_dpus(bad_node().dpus))["nics"]

    assert (first["name"], first["up"], first["operstate"]) == ("enps0", False, "down")
    assert first["npus"] == [0, 1]


def test_what_a_node_does_not_have_is_null() -> None:
    assert describe_switches(None, BUILT_IN) is None
    assert describe_dpus(None) is None
    assert describe_dpus(NO_DPUS) is None, "no longer looked at"


def full_bus() -> Bus:
    """Return a bus on which everything was said once, so that every key has a value."""
    bus = Bus([RESOURCE])
    cards = replace(
        with_hidden(),
        unread=(UnreadCard(address=address(8), reason="late"),),
        unknown=(UnknownChip(phy=PhyId(9), chip=CHIP),),
        unreadable=((CardId(7), "dcmi_get_device_num_in_card", -8005),),
    )
    bus.driver.claim("t").put(DriverState(phase=DriverPhase.READY))
    bus.node.claim("t").put(bad_node())
    bus.inventory.claim("t").put(cards)
    bus.fault_config.claim("t").put(FaultConfigState(rules=BUILT_IN, version=1))
    bus.instance.claim("t").put(InstanceState(phase=InstancePhase.HOLDING))
    serving = ServingState(resource=RESOURCE, phase=ServingPhase.STREAMING)
    bus.serving[RESOURCE].claim("t").put(serving)
    bus.api.claim("t").put(ApiState(phase=ApiPhase.READY, since_ms=Millis(0)))
    bus.own_node.claim("t").put(node_object())
    bus.pods.claim("t").put(Pods(pods=(), live=True))
    bus.hami.claim("t").put(STATE)
    bus.registered.claim("t").put(REGISTRATION)
    bus.vnpus.claim("t").put(SWEEP)
    bus.tasks.claim("t").put((TaskState(name="http", running=True, restarts=0),))
    return bus


def paths(value: object, path: str = "") -> Iterator[str]:
    """Yield the path of each key; the elements of a list count as one."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            here = f"{path}.{key}" if path else key
            if not isinstance(each, Mapping):
                yield here
            yield from paths(each, here)
    elif isinstance(value, list):
        for each in value:
            yield from paths(each, f"{path}[]")


def test_every_key_is_documented_and_nothing_else_is() -> None:
    """Programs read this: a key that is not in the document can be missed, or can vanish."""
    status = StatusReport(bus=full_bus(), version="1", render_metrics=bytes).status()
    document = (ROOT / "docs" / "status.md").read_text()
    documented = re.findall(r"^\| `([a-z_.\[\]]+)` \|", document, re.MULTILINE)

    said = dict.fromkeys(path for path in paths(status) if not path.endswith(EXPLAINED))
    assert documented == list(said)
