"""Whether HAMi's files ask for soft slices: by a flag, or by the mode that came after 2.10.

Decides which of the two counts, in both files alike, and what becomes of a mode that nobody serves
here. An older file has the flag alone; a newer one may have the mode alone, so that an agent that
knew but the flag would leave the whole cluster hard.
"""

from typing import Final

from ascend_agent.dialects.hami.yaml_text import Section, shown

_MODE: Final = "hamiVnpuMode"
_ENPU: Final = "enpu"
_MODES: Final = {"template": False, "hami-core": True, "hamicore": True, _ENPU: False}


def soft_wish(section: Section, flag: str, warnings: list[str]) -> bool | None:
    """Return what *section* says, None: nothing; *flag* is the older key, after the mode.

    Raises:
        ValueError: one of them can't be understood.

    """
    mode = section.text(_MODE, "").strip()
    said = section.flag(flag)
    if not mode:
        return said
    if (wish := _MODES.get(mode.lower())) is None:
        raise ValueError(
            f"{section.where}, {_MODE}: {shown(mode)} is not allowed; give template or hami-core"
        )
    if mode.lower() == _ENPU:
        warnings.append(
            f"{section.where}, {_MODE}: {_ENPU} is not served by this agent, so there are "
            "templates and whole cards only; give template or hami-core"
        )
    return wish
