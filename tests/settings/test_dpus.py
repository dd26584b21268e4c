"""The file of MindCluster's plugin, and what is said of one that means nothing (topology 5.1)."""

import json

import pytest

from ascend_agent.errors import ConfigError
from ascend_agent.model.nics import DpuBus, DpuConfig
from ascend_agent.settings.dpus import parse_dpu_config

NAME = "dpu-config.json"


def refusal(data: bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_dpu_config(data, name=NAME)
    return str(caught.value)


def entry(**keys: object) -> bytes:
    usual = {"busType": "ub", "selectors": {"vendor": ["0x10b5"]}}
    return json.dumps({"configList": [usual | keys]}).encode()


def test_the_file_of_the_peer_is_understood() -> None:
    data = (
        b'{"configList":[{"busType":"ub","selectors":{"vendor":["0x10b5"],'
        b'"deviceIds":["0x1825"],"devices":["enps1","enps2"]}}]}'
    )
    read = parse_dpu_config(data, name=NAME)

    assert read.config == DpuConfig(
        bus=DpuBus.UB,
        vendor_ids=frozenset({"0x10b5"}),
        device_ids=frozenset({"0x1825"}),
        names=frozenset({"enps1", "enps2"}),
        unknown_is_up=True,
    )
    assert read.ignored == ()


@pytest.mark.parametrize(
    "selectors",
    [
        {"vendor": ["0x10b5"]},
        {"vendor": ["0x10b5"], "deviceIds": [], "devices": []},
        {"vendor": ["0x10b5"], "deviceIds": None, "devices": None},
    ],
)
def test_a_selector_that_is_not_given_restricts_nothing(selectors: dict[str, object]) -> None:
    config = parse_dpu_config(entry(busType="pcie", selectors=selectors), name=NAME).config

    assert config.bus is DpuBus.PCIE
    assert (config.device_ids, config.names) == (frozenset(), frozenset())


def test_device_ids_alone_are_enough() -> None:
    read = parse_dpu_config(entry(selectors={"deviceIds": ["0x1825"]}), name=NAME)

    assert read.config.device_ids == {"0x1825"}


def test_unknown_states_can_be_made_to_count_as_down() -> None:
    """Topology 5.9.5."""
    assert parse_dpu_config(entry(unknownIsUp=False), name=NAME).config.unknown_is_up is False


def test_the_first_entry_counts_and_the_others_may_say_anything() -> None:
    data = b'{"configList":[{"busType":"ub","selectors":{"vendor":["1"]}},{"busType":7},null]}'
    read = parse_dpu_config(data, name=NAME)

    assert read.config.vendor_ids == {"1"}
    assert read.ignored == ("all entries of configList but the first (2)",)


def test_keys_that_mean_nothing_are_named_wherever_they_stand() -> None:
    data = (
        b'{"version":1,"configList":[{"busType":"ub","note":"x",'
        b'"selectors":{"vendor":["1"],"device":["enps1"]}}]}'
    )

    assert parse_dpu_config(data, name=NAME).ignored == (
        "version",
        "configList.0.note",
        "configList.0.selectors.device",
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            entry(busType="ub/pcie"),
            (
                "dpu-config.json: configList.0.busType: 'ub/pcie' is what the sample file says, "
                "for you to choose from; keep the one of ub and pcie by which NPUs and DPU NICs "
                "are joined on this node"
            ),
        ),
        (
            entry(busType="UB"),
            "dpu-config.json: configList.0.busType: 'UB' is no bus type; use ub or pcie",
        ),
        (
            entry(busType=1),
            "dpu-config.json: configList.0.busType: 1 is no text; give some",
        ),
        (
            entry(selectors={"devices": ["enps1"]}),
            (
                "dpu-config.json: configList.0.selectors: {'devices': ['enps1']} fits every "
                "network card; give vendor, deviceIds or both, such as 0x10b5"
            ),
        ),
        (
            entry(selectors={"vendor": [], "deviceIds": []}),
            (
                "dpu-config.json: configList.0.selectors: {'vendor': [], 'deviceIds': []} fits "
                "every network card; give vendor, deviceIds or both, such as 0x10b5"
            ),
        ),
        (
            entry(selectors={"vendor": "0x10b5"}),
            "dpu-config.json: configList.0.selectors.vendor: '0x10b5' is no list; write one",
        ),
        (
            entry(selectors={"vendor": [4277]}),
            "dpu-config.json: configList.0.selectors.vendor.0: 4277 is no text; give some",
        ),
        (
            entry(selectors=None),
            "dpu-config.json: configList.0.selectors: None is no object; write one in braces",
        ),
        (
            b'{"configList":[{"busType":"ub"}]}',
            "dpu-config.json: configList.0.selectors is missing; add it",
        ),
        (
            b'{"configList":[]}',
            (
                "dpu-config.json: configList: [] has no entry; give one, or remove the file to do "
                "without DPU NICs"
            ),
        ),
        (b'{"configList":{}}', "dpu-config.json: configList: {} is no list; write one"),
        (b"{}", "dpu-config.json: configList is missing; add it"),
        (b"[]", "dpu-config.json: [] is no object; start with configList"),
    ],
)
def test_what_is_wrong_is_named_with_its_value_and_the_remedy(data: bytes, text: str) -> None:
    assert refusal(data) == text


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_told_so(data: bytes) -> None:
    """How the interpreter words it is its own business."""
    told = refusal(data)

    assert told.startswith("dpu-config.json: is no JSON (")
    assert told.endswith("); correct it there")


def test_each_violation_has_its_line() -> None:
    lines = refusal(entry(busType="x", selectors={})).splitlines()

    assert [line.split(":")[1].strip() for line in lines] == [
        "configList.0.busType",
        "configList.0.selectors",
    ]
