"""device-config.yaml in every layout and version there was, and with every kind of mistake."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_agent.dialects.hami.device_config import parse_device_config
from ascend_agent.model.hami import HamiChip, HamiLayout, HamiTemplate
from ascend_agent.model.ids import ResourceName

CHIP = """
- chipName: 910B3
  commonWord: Ascend910B3
  resourceName: huawei.com/Ascend910B3
  resourceMemoryName: huawei.com/Ascend910B3-memory
  resourceCoreName: huawei.com/Ascend910B3-core
  memoryAllocatable: 65536
  memoryCapacity: 65536
  memoryFactor: 1
  aiCore: 20
  aiCPU: 7
  runtimeClassName: "ascend"
  overwriteEnv: true
  superPod: true
  templates:
  - {name: vir10_3c_32g, memory: 32768, aiCore: 10, aiCPU: 3}
  - {name: vir05_1c_16g, memory: 16384, aiCore: 5, aiCPU: 1}
"""
LEAST = "\n- {chipName: 910X, commonWord: W, resourceName: a.b/W, memoryAllocatable: 100}\n"


def nested(chips: str, more: str = "") -> str:
    return f"vnpus:\n  {more}\n  configs:" + chips.replace("\n", "\n  ")


def with_least(**values: str) -> str:
    fields = {
        "chipName": "910X",
        "commonWord": "W",
        "resourceName": "a.b/W",
        "memoryAllocatable": "100",
    } | values
    return "vnpus: [{" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}]"


def test_a_chip_is_taken_in_whole_and_its_templates_ascend() -> None:
    config = parse_device_config(nested(CHIP, "hamiVnpuCore: true"))

    assert config.chips == (
        HamiChip(
            chip_name="910B3",
            word="Ascend910B3",
            resource=ResourceName("huawei.com/Ascend910B3"),
            memory_resource="huawei.com/Ascend910B3-memory",
            core_resource="huawei.com/Ascend910B3-core",
            allocatable_mib=65536,
            capacity_mib=65536,
            ai_core=20,
            ai_cpu=7,
            runtime_class="ascend",
            overwrite_env=True,
            super_pod=True,
            templates=(
                HamiTemplate(name="vir05_1c_16g", memory_mib=16384, ai_core=5, ai_cpu=1),
                HamiTemplate(name="vir10_3c_32g", memory_mib=32768, ai_core=10, ai_cpu=3),
            ),
        ),
    )
    assert (config.soft, config.layout, config.warnings) == (True, HamiLayout.NESTED, ())


def test_the_older_layout_is_a_list_and_hard() -> None:
    """HAMi C2, CF-5: HAMi before 2.9 writes it, and the peer of its time failed on it."""
    config = parse_device_config("vnpus:" + CHIP)

    assert [chip.chip_name for chip in config.chips] == ["910B3"]
    assert (config.soft, config.layout, config.warnings) == (False, HamiLayout.FLAT, ())


@pytest.mark.parametrize(
    ("said", "soft"),
    [
        ("hamiVnpuMode: hami-core", True),
        ("hamiVnpuMode: template\n  hamiVnpuCore: true", False),
        ("hamiVnpuMode: ''\n  hamiVnpuCore: true", True),
        ("hamiVnpuCore: false", False),
    ],
)
def test_a_mode_for_all_counts_before_the_older_flag(said: str, *, soft: bool) -> None:
    config = parse_device_config(nested(CHIP, said))

    assert (config.soft, config.warnings) == (soft, ())


def test_what_the_scheduler_is_told_for_all_chips_holds_where_an_entry_is_silent() -> None:
    """After HAMi 2.10 it stands beside the chips, and no longer in each."""
    for_all = "runtimeClassName: all\n  overwriteEnv: true\n  enpuPolicy: elastic"
    says_itself = "\n- {chipName: 910Y, commonWord: Y, resourceName: a.b/Y, memoryAllocatable: 1, \
runtimeClassName: own, overwriteEnv: false}\n"

    config = parse_device_config(nested(LEAST.rstrip() + says_itself, for_all))

    assert [(chip.runtime_class, chip.overwrite_env) for chip in config.chips] == [
        ("all", True),
        ("own", False),
    ]
    assert config.warnings == ()


def test_other_vendors_sections_and_top_level_keys_are_silent() -> None:
    text = "nvidia: {resourceCountName: nvidia.com/gpu, x: [1, {y: 2}]}\nnew: 1\n" + nested(LEAST)

    assert parse_device_config(text).warnings == ()


def test_unknown_keys_of_ours_are_harmless_and_told() -> None:
    """CF-5."""
    text = (
        "vnpus:\n  hamiVnpucore: true\n  configs:\n  - {chipName: a, commonWord: W, "
        "resourceName: a.b/W, memoryAllocatable: 9, aiCores: 3, "
        "templates: [{name: t, memory: 9, core: 1}]}"
    )

    config = parse_device_config(text)

    assert not config.soft
    assert [warning.partition(" has no")[0] for warning in config.warnings] == [
        "vnpus: key 'hamiVnpucore'",
        "vnpus, chip 1, template 1: key 'core'",
        "vnpus, chip 1: key 'aiCores'",
    ]


def test_of_keys_that_aliases_repeat_without_end_only_some_are_told() -> None:
    """Ten thousand times a thousand keys would take the memory of the agent."""
    strange = ", ".join(f"k{number}: 1" for number in range(1000))
    text = (
        f"t: &t [&a {{name: n, memory: 9, {strange}}}{', *a' * 99}]\nvnpus:\n"
        "- &c {chipName: a, commonWord: W, resourceName: a.b/W, memoryAllocatable: 9, "
        "templates: *t}\n" + "- *c\n" * 99
    )

    warnings = parse_device_config(text).warnings

    assert len(warnings) == 51
    assert [each.partition(" has no")[0] for each in warnings[:6]] == [
        *(f"vnpus, chip 1, template 1: key 'k{number}'" for number in range(5)),
        "vnpus, chip 1, template 2: key 'k0'",
    ]
    assert "more of the kind" in warnings[-1]


@pytest.mark.parametrize("name", ['"a b"', '"a\\0"', '"vir02\\n"', "é", "v" * 65])
def test_a_template_that_no_container_can_be_told_is_doubtful(name: str) -> None:
    """The scheduler copies it into the pod, whose runtime info is refused for it."""
    config = parse_device_config(with_least(templates=f"[{{name: {name}, memory: 9}}]"))

    (warning,) = config.warnings
    assert warning.startswith("vnpus, chip 1, template 1, name: no driver knows '")
    assert warning.isprintable()


def test_what_older_versions_do_not_write_has_its_default() -> None:
    """HAMi 2.7 and before: no factor, no core resource; 2.9 writes a 910C without templates."""
    (chip,) = parse_device_config("vnpus:\n" + LEAST).chips

    assert (chip.memory_factor, chip.core_resource, chip.capacity_mib) == (1, "", 100)
    assert chip.memory_resource == "a.b/W-memory"
    assert (chip.templates, chip.derived_shares) == ((), 1)


def test_other_words_and_memories_simply_work() -> None:
    """HAMi 2.4 calls the 910B3 Ascend910B, 2.8 has small names for the big slices of a 910B4-1."""
    old = with_least(
        chipName="910B3", commonWord="Ascend910B", resourceName="huawei.com/Ascend910B"
    )
    renamed = with_least(
        memoryAllocatable="65536",
        templates="[{name: vir10_3c_16g, memory: 32768}, {name: vir05_1c_8g, memory: 16384}]",
    )

    (first,) = parse_device_config(old).chips
    (second,) = parse_device_config(renamed).chips

    assert (first.word, first.resource) == ("Ascend910B", "huawei.com/Ascend910B")
    assert second.derived_shares == 4
    assert second.templates[0].name == "vir05_1c_8g"


def test_a_chip_that_stands_twice_counts_once() -> None:
    """As with the plugin, the first one does."""
    other = LEAST.replace("a.b/W", "a.b/V")

    config = parse_device_config("vnpus:\n" + LEAST + other)

    assert [chip.resource for chip in config.chips] == ["a.b/W"]
    assert "chip 2: chipName 910X stood before" in config.warnings[0]


def test_a_template_that_stands_twice_is_told() -> None:
    text = with_least(templates="[{name: t, memory: 9}, {name: t, memory: 8}]")

    assert "template t stands more than once" in parse_device_config(text).warnings[0]


def test_no_chips_are_a_configuration_too() -> None:
    assert parse_device_config("vnpus: {configs: []}").chips == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nvidia: {}", "has no section vnpus"),
        ("vnpus:", "has no section vnpus"),
        ("vnpus: 7", "vnpus: '7' is no mapping"),
        ("vnpus: {hamiVnpuCore: true}", "vnpus: has no configs"),
        ("vnpus: {hamiVnpuCore: perhaps, configs: []}", "vnpus, hamiVnpuCore: 'perhaps'"),
        ("vnpus: {configs: all}", "vnpus, configs: 'all' is not allowed"),
        ("vnpus: [910B3]", "vnpus, chip 1: '910B3' is no mapping"),
        ("vnpus: [{}]", "vnpus, chip 1, chipName: is absent"),
        ("vnpus: [" + "{}," * 101 + "]", "more than 100 chips"),
        (with_least(commonWord="a/b"), "commonWord: 'a/b' is not allowed"),
        (with_least(commonWord="W" * 44), "give up to 43 letters"),
        (with_least(commonWord=".."), "commonWord: '..' is not allowed"),
        (with_least(resourceName="W"), "resourceName: 'W' is not allowed; give DOMAIN/NAME"),
        (with_least(memoryAllocatable="0"), "memoryAllocatable: '0' is not allowed"),
        (with_least(memoryAllocatable="64Gi"), "memoryAllocatable: '64Gi' is not allowed"),
        (with_least(aiCore="-1"), "aiCore: '-1' is not allowed"),
        (with_least(templates="[{name: t}]"), "template 1, memory: is absent"),
        (with_least(templates="[{name: t, memory: 0}]"), "template 1, memory: '0'"),
        (with_least(templates="{}"), "templates: a mapping is not allowed"),
        (with_least(templates="[" + "{name: t, memory: 1}," * 101 + "]"), "100 templates"),
        (
            with_least(memoryAllocatable="65536", templates="[{name: t, memory: 16}]"),
            "fits more than 1000 times",
        ),
    ],
    ids=lambda text: text[:40],
)
def test_what_can_not_be_used_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_device_config(text)


@given(
    kept=st.integers(0, len(CHIP)),
    inserted=st.text(alphabet="{}[]:,-&*!|>'\"%@`#? \n\taA0~<\0\u2028", max_size=30),
    dropped=st.integers(0, 40),
)
def test_whatever_is_written_is_understood_or_refused(
    kept: int, inserted: str, dropped: int
) -> None:
    text = "vnpus:" + CHIP[:kept] + inserted + CHIP[kept + dropped :]

    with contextlib.suppress(ValueError):
        assert parse_device_config(text).layout is not HamiLayout.BUILT_IN
