"""HAMi's ``device-config.yaml`` → the chips it configures and whether soft mode is the rule.

Decides what of the file counts: the section ``vnpus`` in either layout (HAMi C2, CF-5). Other
vendors' sections are their own; a key of ours that nobody knows is warned about, and no more.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ascend_agent.dialects.hami.runtime_info import TEMPLATE
from ascend_agent.dialects.hami.soft_wish import soft_wish
from ascend_agent.dialects.hami.yaml_text import Section, Tree, first_of, read_yaml, shown
from ascend_agent.model.hami import MOST_SHARES, HamiChip, HamiLayout, HamiTemplate
from ascend_agent.model.ids import ResourceName

_VNPUS: Final = "vnpus"
_MOST_CHIPS: Final = 100
_MOST_TEMPLATES: Final = 100
_MOST_MIB: Final = 16 * 1024 * 1024
_MOST_CORES: Final = 10_000
_MOST_FACTOR: Final = 1024 * 1024
_WORD: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,41}[A-Za-z0-9])?")
"""``<word>-devices-to-allocate`` must be the name of an annotation, of at most 63 characters."""
_RESOURCE: Final = re.compile(
    r"[a-z0-9]([a-z0-9.-]{0,200}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)
_WORD_REMEDY: Final = "give up to 43 letters, digits, dots, dashes and underscores"
_RESOURCE_REMEDY: Final = "give DOMAIN/NAME as huawei.com/Ascend910B3"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConfig:
    """The file as understood; ``warnings`` are about what of it has no effect."""

    chips: tuple[HamiChip, ...]
    soft: bool = False
    layout: HamiLayout = HamiLayout.BUILT_IN
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    """What holds for a chip whose own entry does not say it."""

    runtime_class: str = ""
    overwrite_env: bool = False


def parse_device_config(text: str) -> DeviceConfig:
    """Return what the file says.

    Raises:
        ValueError: it can't be used; the text says where, why and what to do.

    """
    tree = read_yaml(text)
    if (value := tree.get(_VNPUS)) is None:
        raise ValueError("has no section vnpus, or an empty one; give the chips there")
    warnings: list[str] = []
    if isinstance(value, list):
        # As every older one the file says nothing about soft mode.
        return _config(value, warnings, soft=False, layout=HamiLayout.FLAT, common=_Common())
    section = Section(value, _VNPUS)
    soft = soft_wish(section, "hamiVnpuCore", warnings) or False
    # After 2.10 both stand here for all chips; with the policy they are the scheduler's alone.
    common = _Common(
        runtime_class=section.text("runtimeClassName", ""),
        overwrite_env=section.flag("overwriteEnv") or False,
    )
    section.text("enpuPolicy", "")
    configs = section.entries("configs")
    if not configs and "configs" not in value:
        raise ValueError("vnpus: has no configs; give a list of chips there")
    warnings += section.unknown()
    return _config(configs, warnings, soft=soft, layout=HamiLayout.NESTED, common=common)


def _config(
    entries: Sequence[Tree],
    warnings: list[str],
    *,
    soft: bool,
    layout: HamiLayout,
    common: _Common,
) -> DeviceConfig:
    if len(entries) > _MOST_CHIPS:
        raise ValueError(f"vnpus: has more than {_MOST_CHIPS} chips; shorten it")
    chips: dict[str, HamiChip] = {}
    for number, entry in enumerate(entries, start=1):
        chip = _chip(Section(entry, f"vnpus, chip {number}"), common, warnings)
        if chips.setdefault(chip.chip_name, chip) is not chip:
            warnings.append(
                f"vnpus, chip {number}: chipName {chip.chip_name} stood before, and the first "
                "counts; remove one"
            )
    return DeviceConfig(
        chips=tuple(chips.values()), soft=soft, layout=layout, warnings=first_of(warnings)
    )


def _chip(section: Section, common: _Common, warnings: list[str]) -> HamiChip:
    name = section.text("chipName")
    resource = section.matching("resourceName", _RESOURCE, _RESOURCE_REMEDY)
    allocatable = section.whole("memoryAllocatable", low=1, high=_MOST_MIB)
    overwrites = section.flag("overwriteEnv")
    chip = HamiChip(
        chip_name=name,
        word=section.matching("commonWord", _WORD, _WORD_REMEDY),
        resource=ResourceName(resource),
        memory_resource=section.text("resourceMemoryName", f"{resource}-memory"),
        core_resource=section.text("resourceCoreName", ""),
        allocatable_mib=allocatable,
        capacity_mib=section.whole("memoryCapacity", low=0, high=_MOST_MIB, default=0)
        or allocatable,
        # 0 is what HAMi makes of an absent one, and means the same as 1.
        memory_factor=section.whole("memoryFactor", low=0, high=_MOST_FACTOR, default=0) or 1,
        ai_core=section.whole("aiCore", low=0, high=_MOST_CORES, default=0),
        ai_cpu=section.whole("aiCPU", low=0, high=_MOST_CORES, default=0),
        runtime_class=section.text("runtimeClassName", "") or common.runtime_class,
        overwrite_env=common.overwrite_env if overwrites is None else overwrites,
        super_pod=section.flag("superPod") or False,
        templates=_templates(section, warnings),
    )
    if chip.derived_shares > MOST_SHARES:
        raise ValueError(
            f"{section.where}, templates: {chip.templates[0].name} of "
            f"{chip.templates[0].memory_mib} MiB fits more than {MOST_SHARES} times into "
            f"memoryAllocatable {allocatable}; both are MiB"
        )
    warnings += section.unknown()
    return chip


def _templates(section: Section, warnings: list[str]) -> tuple[HamiTemplate, ...]:
    """Return the templates by memory, as HAMi and the plugin sort them after loading."""
    entries = section.entries("templates")
    if len(entries) > _MOST_TEMPLATES:
        raise ValueError(f"{section.where}: has more than {_MOST_TEMPLATES} templates; shorten it")
    found = []
    for number, entry in enumerate(entries, start=1):
        one = Section(entry, f"{section.where}, template {number}")
        found.append(
            HamiTemplate(
                name=one.text("name"),
                memory_mib=one.whole("memory", low=1, high=_MOST_MIB),
                ai_core=one.whole("aiCore", low=0, high=_MOST_CORES, default=0),
                ai_cpu=one.whole("aiCPU", low=0, high=_MOST_CORES, default=0),
            )
        )
        warnings += one.unknown()
        if not TEMPLATE.fullmatch(found[-1].name):
            warnings.append(
                f"{one.where}, name: no driver knows {shown(found[-1].name)}, and its pods are "
                "refused; give up to 64 letters, digits, dots, dashes and underscores"
            )
    twice = [name for name, count in Counter(each.name for each in found).items() if count > 1]
    warnings += [
        f"{section.where}: template {name} stands more than once; remove all but one"
        for name in twice
    ]
    return tuple(sorted(found, key=lambda each: each.memory_mib))
