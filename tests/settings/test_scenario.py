"""Scenario files: read as people write them, refused with thing, value and remedy."""

from pathlib import Path

import pytest

from ascend_agent.errors import ConfigError
from ascend_agent.settings import (
    DropStep,
    FaultStep,
    HangStep,
    ProcessStep,
    SimulatedNode,
    WorkerStep,
)
from ascend_agent.settings.scenario import load_scenario, parse_scenario

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"
WHOLE = """
chip: 910B3
npus: 8
seed: 7
steps:
  - {at_s: 4, npu: 3, fault: 80E01801}
  - {at_s: 8, npu: 3, recover: 80E01801}
  - {at_s: 9, npu: 2, pulse: 81078603}
  - {at_s: 10, card: 5, drop: true}
  - {at_s: 12, card: 5, drop: false}
  - {at_s: 13, card: 1, call: health, hang_s: 20}
  - {at_s: 14, worker: die}
  - {at_s: 15, npu: 2, process: 4711, memory_mib: 100, pod: 0123-4567}
  - {at_s: 16, npu: 2, process: 4711, gone: true}
"""


def refusal(text: str | bytes) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(text, name="s.yaml")
    return str(caught.value).splitlines()


def test_a_whole_scenario_is_understood() -> None:
    assert parse_scenario(WHOLE, name="s.yaml") == SimulatedNode(
        chip="910B3",
        npus=8,
        seed=7,
        steps=(
            FaultStep(at_s=4, npu=3, fault=0x80E01801),
            FaultStep(at_s=8, npu=3, recover=0x80E01801),
            FaultStep(at_s=9, npu=2, pulse=0x81078603),
            DropStep(at_s=10, card=5, drop=True),
            DropStep(at_s=12, card=5, drop=False),
            HangStep(at_s=13, card=1, call="health", hang_s=20),
            WorkerStep(at_s=14, worker="die"),
            ProcessStep(at_s=15, npu=2, process=4711, memory_mib=100, pod="0123-4567"),
            ProcessStep(at_s=16, npu=2, process=4711, gone=True),
        ),
    )


def test_a_chip_of_digits_stays_a_name() -> None:
    """YAML alone would make a number of it."""
    assert parse_scenario("chip: 310", name="s.yaml").chip == "310"


def test_json_is_a_scenario_too() -> None:
    node = parse_scenario('{"chip": "950", "steps": [{"at_s": 1, "worker": "die"}]}', name="s")

    assert node == SimulatedNode(chip="950", steps=(WorkerStep(at_s=1, worker="die"),))


def test_what_is_given_beside_the_file_wins() -> None:
    assert parse_scenario(WHOLE, name="s", npus="6", chip="910A").count == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chip: 999", "scenario s.yaml, chip: '999' is no chip we simulate; use one of 310, "),
        ("cards: 3", "scenario s.yaml, cards is no known key; remove it or use one of chip, npus"),
        ("npus: many", "scenario s.yaml, npus: 'many' is no whole number; give one"),
        ("npus: 65", "scenario s.yaml, npus: 65 is more than a node of 910B3 can hold; give 0 to"),
        ("[1]", "scenario s.yaml: ['1'] is no mapping; start with chip:, npus: and steps:"),
        ("", "scenario s.yaml: is empty; start with"),
        ("steps: 3", "scenario s.yaml, steps: '3' is no list; write one"),
        (
            "steps: [{at_s: 1, npu: 0, fault: 80E0180G}]",
            "scenario s.yaml, step 1, fault: '80E0180G' is no fault code; write one to nine hex",
        ),
        (
            "steps: [{at_s: 1, npu: 9, fault: A}]",
            "scenario s.yaml, step 1, npu: 9 does not exist: this 910B3 node has 8; use 0 to 7",
        ),
        (
            "{chip: 910C, steps: [{at_s: 1, switch: {chip: 0, port: 48, peer: L2}, fault: A}]}",
            "scenario s.yaml, step 1, switch, port: '48' is no port of a switch chip; write one ",
        ),
        (
            "{chip: 910C, steps: [{at_s: 1, switch: {chip: 0, prot: 7}, fault: A}]}",
            "scenario s.yaml, step 1, switch, prot is no known key; remove it or use one of ",
        ),
        (
            "{chip: 910C, steps: [{at_s: 1, switch: {chip: 16}, fault: A}]}",
            "scenario s.yaml, step 1, switch, chip: '16' is too large; give less than 16",
        ),
        (
            "steps: [{at_s: 1, switch: {chip: 0}, fault: A}]",
            "scenario s.yaml, step 1, switch: 0 does not exist: a node of 910B3 has no switches; ",
        ),
        (
            "{chip: 950, steps: [{at_s: 1, dpu: enps0, operstate: broken}]}",
            "scenario s.yaml, step 1, operstate: 'broken' is not allowed; use one of 'up', ",
        ),
        (
            "{chip: 950, steps: [{at_s: 1, dpu: enps4, operstate: down}]}",
            "scenario s.yaml, step 1, dpu: 'enps4' is no DPU NIC of this node; use one of enps0, ",
        ),
        (
            "steps: [{at_s: 1, dpu: enps0, operstate: down}]",
            "scenario s.yaml, step 1, dpu: 'enps0' does not exist: a node of 910B3 has no DPU NICs",
        ),
        (
            "{chip: 950, steps: [{at_s: 1, dpu: enps0, operstate: up, npu: 1}]}",
            "scenario s.yaml, step 1, npu is no known key; remove it or use one of at_s, dpu, ",
        ),
        (
            "{chip: 950, steps: [{at_s: 1, npu: 0, vnpu: 100, gone: true}]}",
            "scenario s.yaml, step 1, vnpu: 100 can't be: the driver cuts no 950; use 310P3, ",
        ),
        (
            "{chip: 950, steps: [{at_s: 1, npu: 0, link: down}]}",
            "scenario s.yaml, step 1, link: 'down' is about ports that NPUs of this chip don't ",
        ),
        (
            "{chip: 310P3, steps: [{at_s: 1, npu: 0, bonded_down: 1}]}",
            "scenario s.yaml, step 1, bonded_down: 1 is about ports that NPUs of this chip don't ",
        ),
        (
            "{chip: 950, steps: [{at_s: 1, npu: 0, ub_down: 1, link: up}]}",
            "scenario s.yaml, step 1: {'at_s': '1', 'npu': '0', 'ub_down': '1', 'link': 'up'} must",
        ),
        (
            "steps: [{at_s: -1, worker: die}]",
            "scenario s.yaml, step 1, at_s: '-1' is too small; give 0 or more",
        ),
        ("steps: [{worker: die}]", "scenario s.yaml, step 1, at_s is missing; add it"),
        (
            "steps: [{at_s: 1, worker: die, npu: 3}]",
            "scenario s.yaml, step 1, npu is no known key; remove it or use one of at_s, worker",
        ),
        (
            "steps: [{at_s: 1, explode: yes}]",
            "scenario s.yaml, step 1: {'at_s': '1', 'explode': 'yes'} says nothing that happens; ",
        ),
        (
            "chip: 910A\nchip: 910B3",
            "scenario s.yaml: is no YAML (the key 'chip' stands twice in line 2, column 1",
        ),
        (
            "steps: [{at_s: 1, card: 0, call: reset, hang_s: 3}]",
            "scenario s.yaml, step 1, call: 'reset' is not allowed; use one of 'identity', ",
        ),
        (
            "pods: [{at_s: 1, pod: A_b}]",
            "scenario s.yaml, pod 1, pod: 'A_b' is not allowed; give what matches ^[a-z0-9]",
        ),
        ("{", "scenario s.yaml: is no YAML (while parsing a flow node"),
        (
            "steps:\n- npu: 3\n   at_s: 8",
            "scenario s.yaml: is no YAML (mapping values are not allowed here in line 3, column 8)",
        ),
        ("? [a]\n: 1", "scenario s.yaml: is no YAML (a key is no text in"),
        ("a: *nobody", "scenario s.yaml: is no YAML (found undefined alias"),
        ("steps: &a [*a]", "scenario s.yaml: is no YAML (found unconstructable recursive node"),
        ("[" * 600, "scenario s.yaml: is no YAML"),
        (b"\xff\xfe\xfa", "scenario s.yaml: is no YAML"),
        (" " * (1 << 20) + "a", "scenario s.yaml: is larger than 1 MiB; shorten it"),
    ],
)
def test_a_bad_scenario_is_refused_by_thing_value_and_remedy(
    text: str | bytes, message: str
) -> None:
    lines = refusal(text)

    assert len(lines) == 1
    assert lines[0].startswith(message)


def test_a_tag_builds_nothing() -> None:
    """Scenario files are passed around; one must not run code."""
    assert parse_scenario("!!python/object/apply:os.abort {}", name="s") == SimulatedNode()


def test_every_violation_of_a_scenario_is_told_at_once() -> None:
    text = "steps: [{at_s: x, npu: 0, fault: A}, {at_s: 1}, {at_s: 1, card: 0, drop: perhaps}]"

    assert [line.split(":")[0] for line in refusal(text)] == [
        "scenario s.yaml, step 1, at_s",
        "scenario s.yaml, step 2",
        "scenario s.yaml, step 3, drop",
    ]


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"

    with pytest.raises(ConfigError) as caught:
        load_scenario(missing)

    assert str(caught.value) == (
        f"scenario {missing}: can't be read (No such file or directory); give a readable file"
    )


def test_a_directory_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        load_scenario(tmp_path)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_a_scenario(path: Path) -> None:
    node = load_scenario(path)

    assert node.steps or node.pods


def test_there_are_examples() -> None:
    """An empty folder would pass the test above."""
    assert len(list(EXAMPLES.glob("*.yaml"))) >= 4
