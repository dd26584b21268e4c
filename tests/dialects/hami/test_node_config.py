"""node-config.yaml: the entry of this node, and what is wrong with the file."""

import re

import pytest

from ascend_agent.dialects.hami.node_config import NodeConfig, parse_node_config
from ascend_agent.model.hami import HamiNodeEntry
from ascend_agent.model.ids import CardId, NodeName
from tests.fakes.hami import NODE, die


def parse(text: str) -> NodeConfig:
    return parse_node_config(text, node=NODE)


def test_an_entry_is_taken_in_whole() -> None:
    found = parse(
        f"""
nodes:
- name: "node-a"
  hami-vnpu-core: true
  vDeviceCount: 8
  filterDevices: {{index: [0, 12], uuid: ["{die(7).lower()}"]}}
"""
    )

    assert found == NodeConfig(
        entry=HamiNodeEntry(
            soft=True,
            shares=8,
            hidden_dies=frozenset({die(7)}),
            hidden_cards=frozenset({CardId(0), CardId(12)}),
        )
    )


@pytest.mark.parametrize(
    ("said", "entry"),
    [
        ("vDeviceCount: 10", HamiNodeEntry(shares=10)),
        ("hami-vnpu-core: false", HamiNodeEntry(soft=False)),
        ("hami-vnpu-core: ~", HamiNodeEntry()),
        ("hamiVnpuMode: hami-core", HamiNodeEntry(soft=True)),
        ("hamiVnpuMode: template, hami-vnpu-core: true", HamiNodeEntry(soft=False)),
        ("hamiVnpuMode: ~, hami-vnpu-core: true", HamiNodeEntry(soft=True)),
        ("vDeviceCount: 0", HamiNodeEntry()),
        ("filterDevices: ~", HamiNodeEntry()),
        ("filterDevices: {index: [], uuid: ~}", HamiNodeEntry()),
    ],
)
def test_what_is_not_said_is_left_open(said: str, entry: HamiNodeEntry) -> None:
    """HAMi C3: an entry about shares says nothing about the mode."""
    found = parse("nodes: [{name: node-a, " + said + "}]")

    assert (found.entry, found.warnings) == (entry, ())


def test_the_first_entry_of_this_node_counts_and_others_are_not_looked_into() -> None:
    found = parse(
        "nodes: [{name: b, vDeviceCount: nonsense}, {name: node-a, vDeviceCount: 2}, "
        "{name: node-a, vDeviceCount: 3}]"
    )

    assert found.entry == HamiNodeEntry(shares=2)
    assert "entry 3: 'node-a' stood before" in found.warnings[0]


def test_a_file_for_all_nodes_of_a_large_cluster_is_understood() -> None:
    """With more than a thousand it was refused, and no node hid the NPUs that it names."""
    others = "".join(f"- {{name: node-{number}}}\n" for number in range(4999))

    found = parse(f"nodes:\n{others}- {{name: {NODE}, filterDevices: {{index: [3]}}}}\n")

    assert found.entry == HamiNodeEntry(hidden_cards=frozenset({CardId(3)}))
    with pytest.raises(ValueError, match="more than 5000 entries"):
        parse(f"nodes:\n{others}- {{name: a}}\n- {{name: b}}\n")


def test_a_file_that_forgets_this_node_is_told() -> None:
    """CF-1: a name misspelt would else have no effect, and nobody would be told."""
    names = ", ".join(f"{{name: Node-{number}}}" for number in range(7))

    found = parse(f"nodes: [{names}]")

    assert found.entry is None
    assert "no entry is of this node, 'node-a': the file names 'Node-0'" in found.warnings[0]
    assert "'Node-4', ...; global settings hold" in found.warnings[0]


def test_a_file_without_entries_has_nothing_to_say() -> None:
    assert parse("nodes: []") == NodeConfig()


def test_unknown_keys_are_told_wherever_they_stand() -> None:
    found = parse(
        "node: 1\nnodes: [{name: node-a, vdevicecount: 3, filterDevices: {indexes: [1]}}, "
        "{name: b, x: 1}]"
    )

    assert [warning.partition(" has no")[0] for warning in found.warnings] == [
        "top level: key 'node'",
        "nodes, entry 1, filterDevices: key 'indexes'",
        "nodes, entry 1: key 'vdevicecount'",
    ]


def test_a_name_that_is_no_die_is_told() -> None:
    found = parse("nodes: [{name: node-a, filterDevices: {uuid: [GPU-1]}}]")

    assert "filterDevices, uuid: 'GPU-1' is no VDIE id" in found.warnings[0]


def test_of_very_many_mistakes_some_are_told() -> None:
    wrong = ", ".join(f"GPU-{number}" for number in range(1000))

    found = parse(f"nodes: [{{name: node-a, filterDevices: {{uuid: [{wrong}]}}}}]")

    assert len(found.warnings) == 51


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- name: node-a", "a list is no mapping"),
        ("node: []", "has no nodes"),
        ("nodes: {node-a: {}}", "nodes: a mapping is not allowed; write a list"),
        ("nodes: [node-a]", "nodes, entry 1: 'node-a' is no mapping"),
        ("nodes: [{vDeviceCount: 3}]", "nodes, entry 1, name: is absent"),
        ("nodes: [{name: node-a, vDeviceCount: -1}]", "vDeviceCount: '-1' is not allowed"),
        ("nodes: [{name: node-a, vDeviceCount: 1001}]", "give a whole number, 0 to 1000"),
        ("nodes: [{name: node-a, hami-vnpu-core: soft}]", "hami-vnpu-core: 'soft'"),
        ("nodes: [{name: node-a, hamiVnpuMode: soft}]", "nodes, entry 1, hamiVnpuMode: 'soft'"),
        ("nodes: [{name: node-a, filterDevices: [0]}]", "filterDevices: a list is no mapping"),
        ("nodes: [{name: node-a, filterDevices: {index: [x]}}]", "index: 'x' is not allowed"),
        ("nodes: [{name: node-a, filterDevices: {index: 0}}]", "index: '0' is not allowed"),
        ("nodes: [{name: node-a, filterDevices: {uuid: [[]]}}]", "uuid: a list is not allowed"),
    ],
)
def test_what_can_not_be_used_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse(text)


def test_names_are_compared_exactly() -> None:
    assert parse_node_config("nodes: [{name: node-a}]", node=NodeName("node-A")).entry is None
