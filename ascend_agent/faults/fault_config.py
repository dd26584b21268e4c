"""Which of the offered fault rules are in force, file by file, and what is wrong with the others.

A file counts from the ConfigMap, else from the directory, else from the built-in table. One that
is refused changes nothing: what was in force stays, until a good one comes or the file goes away.
Formats are decided in ``code_files`` and ``customization``; reading is left to mechanisms.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.code_files import parse_fault_codes, parse_switch_codes
from ascend_agent.faults.config_text import Parsed
from ascend_agent.faults.customization import Customization, parse_customization
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault_rules import FaultFiles, FaultRules, SwitchLevel

T = TypeVar("T")

FAULT_CODES: Final = "faultCode.json"
SWITCH_CODES: Final = "SwitchFaultCode.json"
CUSTOMIZATION: Final = "faultCustomization.json"
FILES: Final = (FAULT_CODES, SWITCH_CODES, CUSTOMIZATION)
_BUILT_IN: Final = "built-in"
_RULES: Final = Customization(
    frequency=BUILT_IN.frequency, duration=BUILT_IN.duration, spellings={}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is offered beside the built-in table; names are for people.

    ``data`` None: there is no such ConfigMap, or none that we know of.
    """

    directory: str = ""
    files: FaultFiles = field(default_factory=FaultFiles)
    config_map: str = ""
    data: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[T]):
    """One of the files: what is in force of it, and what is wrong with what is offered now.

    ``source`` is where ``value`` came from. ``judged`` is the offer that ``problems`` are about,
    so that an unchanged one is not read again.
    """

    value: T
    source: str = _BUILT_IN
    judged: tuple[str, str] = (_BUILT_IN, "")
    problems: tuple[str, ...] = ()
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultConfig:
    """What is in force, part by part."""

    codes: Part[Catalog] = field(default_factory=lambda: Part(value=BUILT_IN.catalog))
    switches: Part[Mapping[str, SwitchLevel]] = field(
        default_factory=lambda: Part(value=BUILT_IN.switches)
    )
    customization: Part[Customization] = field(default_factory=lambda: Part(value=_RULES))

    @property
    def parts(
        self,
    ) -> Mapping[str, Part[Catalog] | Part[Customization] | Part[Mapping[str, SwitchLevel]]]:
        """Return the parts by the name of their file."""
        return {
            FAULT_CODES: self.codes,
            SWITCH_CODES: self.switches,
            CUSTOMIZATION: self.customization,
        }

    @property
    def refused(self) -> tuple[str, ...]:
        """Return what can't be used of what is offered, and why."""
        return tuple(
            f"{name} of {part.judged[0]}: {text}"
            for name, part in self.parts.items()
            for text in part.problems
        )

    def rules(self) -> FaultRules:
        """Return all that is in force."""
        catalog, rules = self.codes.value, self.customization.value
        if not rules.spellings.keys() <= catalog.spellings.keys():
            spellings = {**rules.spellings, **catalog.spellings}
            catalog = replace(catalog, spellings=MappingProxyType(spellings))
        return FaultRules(
            catalog=catalog,
            frequency=rules.frequency,
            duration=rules.duration,
            switches=self.switches.value,
            source=self._source(),
        )

    def _source(self) -> str:
        sources = {name: part.source for name, part in self.parts.items()}
        if len(set(sources.values())) == 1:
            return self.codes.source
        return ", ".join(
            f"{name}: {source}" for name, source in sources.items() if source != _BUILT_IN
        )


def judge(config: FaultConfig, sources: Sources) -> FaultConfig:
    """Return what is in force once *sources* are what is offered; may compute for a while."""
    return FaultConfig(
        codes=_follow(
            config.codes,
            _offer(FAULT_CODES, sources),
            lambda text: parse_fault_codes(text, built_in=BUILT_IN.catalog),
            built_in=BUILT_IN.catalog,
        ),
        switches=_follow(
            config.switches,
            _offer(SWITCH_CODES, sources),
            lambda text: parse_switch_codes(text, built_in=BUILT_IN.switches),
            built_in=BUILT_IN.switches,
        ),
        customization=_follow(
            config.customization,
            _offer(CUSTOMIZATION, sources),
            lambda text: parse_customization(text, built_in=_RULES),
            built_in=_RULES,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    source: str
    text: str = ""
    trouble: str = ""


def _offer(name: str, sources: Sources) -> _Offer:
    """Return the file of *name* that counts, or why that can't be told."""
    if sources.data is not None and name in sources.data:
        return _Offer(source=sources.config_map, text=sources.data[name])
    if name in sources.files.troubles:
        return _Offer(source=sources.directory, trouble=sources.files.troubles[name])
    if name in sources.files.texts:
        return _Offer(source=sources.directory, text=sources.files.texts[name])
    return _Offer(source=_BUILT_IN)


def _follow(
    part: Part[T], offer: _Offer, parse: Callable[[str], Parsed[T]], *, built_in: T
) -> Part[T]:
    judged = (offer.source, offer.trouble or offer.text)
    if judged == part.judged:
        return part
    if offer.source == _BUILT_IN:
        return Part(value=built_in)
    parsed: Parsed[T] = Parsed(value=None, problems=(offer.trouble,))
    if not offer.trouble:
        parsed = parse(offer.text)
    if parsed.value is None:
        return replace(part, judged=judged, problems=parsed.problems, refused=True)
    return Part(value=parsed.value, source=offer.source, judged=judged, problems=parsed.problems)
