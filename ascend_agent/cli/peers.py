"""The options of the two device plugins this agent replaces, in Go's flag syntax.

What means the same is translated; what no longer has a meaning is ignored and said; what would
change which devices pods get, and is not built yet, is refused: ignoring it would hand out wrong
devices.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
_LEVELS = {"-1": "debug", "0": "info", "1": "warning", "2": "error", "3": "critical"}
_DEFAULT_PORT = "11251"
_LOWEST_PORT, _HIGHEST_PORT = 1025, 65535
_LARGEST_OFFSET = 60
_KLOG_DEBUG = 4  # klog's verbosity from which its users expect debug output


@dataclass(frozen=True, slots=True)
class Same:
    """Means what a setting of ours means; ``translate`` returns None for a bad value."""

    sets: str
    translate: Callable[[str], str | None]
    allowed: str


@dataclass(frozen=True, slots=True)
class HamiFile:
    """A file of HAMi's; empty as absent. With *selects* it says that HAMi schedules as well."""

    sets: str
    selects: bool


@dataclass(frozen=True, slots=True)
class Retired:
    """Has no effect here; any value is accepted with a warning that says why."""

    why: str


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """Accepted only with a value that asks for nothing; else the start is refused."""

    harmless: frozenset[str]
    feature: str
    otherwise: str = "pods would get wrong devices"


@dataclass(frozen=True, slots=True)
class Healthz:
    """One half of the health endpoint, put together once all options are known."""


@dataclass(frozen=True, slots=True)
class Version:
    """Asks for the version, whatever else is given."""


Meaning = Same | HamiFile | Retired | NotBuilt | Healthz | Version


@dataclass(frozen=True, slots=True)
class PeerValue:
    """An option of a peer as given; ``typed`` is how the user wrote its name."""

    name: str
    typed: str
    value: str


@dataclass(slots=True)
class Translated:
    """What the peers' options come to: settings by field, warnings, violations."""

    given: list[tuple[str, str, str]] = field(default_factory=list)
    """(field, value, name as typed)"""
    implied: list[tuple[str, str, str]] = field(default_factory=list)
    """The same for what holds where nobody says otherwise."""
    warnings: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def _number(low: int, high: int) -> Callable[[str], str | None]:
    def translate(text: str) -> str | None:
        if re.fullmatch(r"[0-9]{1,6}", text) and low <= int(text) <= high:
            return str(int(text))
        return None

    return translate


def _seconds_off(text: str) -> str | None:
    if re.fullmatch(r"-?[0-9]{1,2}", text) and abs(int(text)) <= _LARGEST_OFFSET:
        return str(int(text))
    return None


def _klog_level(text: str) -> str | None:
    if not re.fullmatch(r"[0-9]{1,2}", text):
        return None
    return "debug" if int(text) >= _KLOG_DEBUG else "info"


def _text(text: str) -> str | None:
    return text or None


_LOGS = Retired("logs go to standard output; rotation is the container runtime's")
_KLOG = Retired("this agent's logs are set with --log-level and --log-style")
_NO_POD_CACHE = Retired("this agent keeps no pod cache that could need it")


def _off(feature: str) -> NotBuilt:
    return NotBuilt(_FALSE, feature)


def _empty(feature: str) -> NotBuilt:
    return NotBuilt(frozenset({""}), feature)


_HTTPS = NotBuilt(frozenset({""}), "HTTPS", "the health page would be sent in the clear")

SWITCHES = frozenset(
    {
        "autoStowing",
        "checkCachedPods",
        "dealWatchHandler",
        "enable-healthz",
        "enableSlowNode",
        "fdFlag",
        "getPodFromKubelet",
        "presetVirtualDevice",
        "use310PMixedInsert",
        "useAscendDocker",
        "useSingleDieMode",
        "version",
        "volcanoType",
        "add_dir_header",
        "alsologtostderr",
        "logtostderr",
        "one_output",
        "skip_headers",
        "skip_log_headers",
    }
)

MEANINGS: Mapping[str, Meaning] = MappingProxyType(
    {
        # the same
        "version": Version(),
        "logLevel": Same("log_level", _LEVELS.get, "-1, 0, 1, 2 or 3"),
        "shareDevCount": Same("shares", _number(1, 100), "1 to 100"),
        "deviceResetTimeout": Same("device_reset_timeout_s", _number(10, 600), "10 to 600"),
        "listWatchPeriod": Same("health_interval_s", _number(3, 1800), "3 to 1800"),
        "node_name": Same("node_name", _text, "the name of this node"),
        "hw_loglevel": Same("log_level", _LEVELS.get, "-1, 0, 1, 2 or 3"),
        "v": Same("log_level", _klog_level, "0 to 99"),
        "config_file": HamiFile("device_config", selects=True),
        "node_config_file": HamiFile("node_config", selects=False),
        "check_idle_vnpu_interval": Same("vnpu_sweep_interval_s", _number(5, 86400), "5 to 86400"),
        "report_time_offset": Same("hami_report_offset_s", _seconds_off, "-60 to 60"),
        "enable-healthz": Healthz(),
        "healthz-address": Healthz(),
        # retired
        "autoStowing": Retired("recovered NPUs always come back"),
        "checkCachedPods": _NO_POD_CACHE,
        "dealWatchHandler": _NO_POD_CACHE,
        "edgeLogFile": _LOGS,
        "logFile": _LOGS,
        "maxAge": _LOGS,
        "maxBackups": _LOGS,
        "useAscendDocker": Retired("set --inject; by default the runtime is recognised"),
        "thirdPartyScanDelay": Retired("a chip that someone else resets is read as soon as it can"),
        "linkdownTimeout": Retired("the rule for 81078603 says it, in faultCustomization.json"),
        "add_dir_header": _KLOG,
        "alsologtostderr": _KLOG,
        "log_backtrace_at": _KLOG,
        "log_dir": _KLOG,
        "log_file": _KLOG,
        "log_file_max_size": _KLOG,
        "logtostderr": _KLOG,
        "one_output": _KLOG,
        "skip_headers": _KLOG,
        "skip_log_headers": _KLOG,
        "stderrthreshold": _KLOG,
        "vmodule": _KLOG,
        # not built yet
        "enableSlowNode": _off("slow-node detection"),
        "fdFlag": _off("edge management by FusionDirector"),
        "getPodFromKubelet": _off("reading pods from the kubelet"),
        "hotReset": NotBuilt(frozenset({"-1"}), "resetting NPUs"),
        "presetVirtualDevice": NotBuilt(_TRUE, "dynamic vNPUs"),
        "softShareDevConfigDir": _empty("soft shares"),
        "tls-cert-file": _HTTPS,
        "tls-private-key-file": _HTTPS,
        "use310PMixedInsert": _off("mixed 310P products on one node"),
        "useSingleDieMode": _off("offering single dies"),
        "volcanoType": _off("the Volcano dialect"),
    }
)


def split(argv: Sequence[str]) -> tuple[list[str], list[PeerValue], list[str]]:
    """Take the peers' options out of *argv*; return the rest, the options, and violations.

    One or two dashes; a switch has its value behind ``=`` only, as Go demands.
    """
    rest: list[str] = []
    found: list[PeerValue] = []
    problems: list[str] = []
    words = iter(argv)
    for word in words:
        match = re.fullmatch(r"(--?([A-Za-z][\w-]*))(?:=(.*))?", word, re.DOTALL)
        if not match or match[2] not in MEANINGS:
            rest.append(word)
            continue
        typed, name, value = match[1], match[2], match[3]
        if value is None:
            value = "true" if name in SWITCHES else next(words, None)
        if value is None:
            problems.append(f"{typed} has no value; write {typed}=VALUE")
        elif name in SWITCHES and value not in _TRUE | _FALSE:
            problems.append(f"{typed}: {value[:80]!r} is neither true nor false; give one of them")
        else:
            found.append(PeerValue(name, typed, value))
    return rest, found, problems


def wants_version(values: Sequence[PeerValue]) -> bool:
    """Return whether the version was asked for."""
    return any(peer.name == "version" and peer.value in _TRUE for peer in values)


def translate(values: Sequence[PeerValue]) -> Translated:
    """Return what the peers' options mean here; of a repeated option the last one counts."""
    result = Translated()
    last = {peer.name: peer for peer in values}
    for peer in last.values():
        _translate_one(peer, result)
    _translate_healthz(last.get("enable-healthz"), last.get("healthz-address"), result)
    return result


def _translate_one(peer: PeerValue, result: Translated) -> None:
    match MEANINGS[peer.name]:
        case Same(sets, convert, allowed):
            value = convert(peer.value)
            if value is None:
                result.problems.append(
                    f"{peer.typed}: {peer.value[:80]!r} is not allowed; give {allowed}"
                )
            else:
                result.given.append((sets, value, peer.typed))
        case HamiFile(sets, selects):
            if peer.value:
                result.given.append((sets, peer.value, peer.typed))
            if peer.value and selects:
                result.implied.append(("dialect", "hami", peer.typed))
        case Retired(why):
            result.warnings.append((peer.typed, why))
        case NotBuilt(harmless, feature, otherwise):
            if peer.value not in harmless:
                result.problems.append(
                    f"{peer.typed}: {peer.value[:80]!r} asks for {feature}, which is not built "
                    f"yet, and without it {otherwise}; remove the option or keep the older plugin"
                )
        case Healthz() | Version():
            pass  # they concern the whole command line
        case other:
            assert_never(other)


def _translate_healthz(
    enable: PeerValue | None, address: PeerValue | None, result: Translated
) -> None:
    port = _number(_LOWEST_PORT, _HIGHEST_PORT)(address.value if address else _DEFAULT_PORT)
    if address and port is None:
        result.problems.append(
            f"{address.typed}: {address.value[:80]!r} is no port; "
            f"give {_LOWEST_PORT} to {_HIGHEST_PORT}"
        )
    elif enable and enable.value in _TRUE:
        result.given.append(("http", f":{port}", enable.typed))
    elif address:
        result.warnings.append((address.typed, "it needs --enable-healthz=true"))
