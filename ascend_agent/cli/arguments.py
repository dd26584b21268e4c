"""argv and environment → what was given for each setting, and by which name.

Nothing is typed or judged here beyond the form; nothing heavy is imported, so that ``--help``
and mistakes answer at once.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn

from ascend_agent.cli import peers
from ascend_agent.cli.options import COMMANDS, OPTIONS, Command, Option

_MISSING = "\0"
_SERVICE_VARIABLE = re.compile(
    r"(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_\w+)?)?)"
)
"""What Kubernetes sets in every pod for a Service whose name starts with ``ascend-agent``."""
_PREFIX = "ASCEND_AGENT_"
_OF_PEERS = frozenset({Command.RUN, Command.DOCTOR, Command.DEREGISTER})
"""Commands that stand in an older plugin's place, with its options and its pod's variables."""
_VARIABLES_OF_HAMI: Mapping[str, str] = MappingProxyType(
    {"HOOK_PATH": "hami_root", "HAMI_VNPU_ASSETS_PATH": "hami_assets"}
)
_TAKES_WORDS: Mapping[Command, str] = MappingProxyType(
    {
        Command.FAULTS: "a code as 80E18005, or a switch fault as [0x08520003,na,L2,na] "
        "(default: all that are known)"
    }
)
_PEERS = (
    "The options of MindCluster's and HAMi's device plugins are understood too, with one dash or "
    "two: see docs/configuration.md."
)


class UsageError(Exception):
    """The command line has no usable form; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Given:
    """One value and the name under which the user gave it."""

    value: str
    name: str


@dataclass(slots=True)
class Arguments:
    """All that was given, by the field it sets; flags already win over variables.

    ``words`` are what a command is about, where it takes that beside options.
    """

    command: Command
    given: dict[str, Given] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    warnings: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class _Formatter(argparse.HelpFormatter):
    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        """Show a value as the demand it is: that it may be absent is for our own message alone."""
        if isinstance(action.metavar, str) and action.const == _MISSING:
            return action.metavar
        return super()._format_args(action, default_metavar)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the agent's own options."""
    parser = _Parser(
        prog="ascend-agent",
        description="Offers a node's Ascend NPUs to Kubernetes.",
        epilog="Each option can also be set by the environment: ASCEND_AGENT_<OPTION>, "
        "such as ASCEND_AGENT_LOG_LEVEL=debug. The flag wins.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for command, summary in COMMANDS.items():
        sub = commands.add_parser(
            command.value,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=_PEERS if command in _OF_PEERS else None,
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        if command in _TAKES_WORDS:
            sub.add_argument("words", nargs="*", metavar="CODE", help=_TAKES_WORDS[command])
        for option in OPTIONS:
            if command in option.commands:
                sub.add_argument(
                    option.flag,
                    dest=option.sets,
                    action="append",
                    nargs="?",
                    const="true" if option.metavar is None else _MISSING,
                    default=argparse.SUPPRESS,
                    metavar=option.metavar or "true|false",
                    help=option.help,
                )
    return parser


def parse(argv: Sequence[str], environment: Mapping[str, str]) -> Arguments:
    """Return what was given; raises UsageError where not even the command is clear."""
    own, found, problems = peers.split(argv)
    if peers.wants_version(found):
        return Arguments(Command.VERSION)
    known, unknown = make_parser().parse_known_args(_close_switches(own))
    if known.command is None:
        raise UsageError(f"no command; say one of {', '.join(COMMANDS)}, see ascend-agent --help")
    command = Command(known.command)
    result = Arguments(command, problems=problems)
    if command in _TAKES_WORDS:
        # What stands behind an option is not among the parser's own, though it is a word as well.
        more = [word for word in unknown if not word.startswith("-")]
        result.words = (*known.words, *more)
        unknown = [word for word in unknown if word.startswith("-")]
    result.problems += _unknowns(unknown, command)
    implied = _take_peers(found, result)
    _take_flags(vars(known), result)
    _take_environment(environment, result)
    for sets, value, name in implied:
        result.given.setdefault(sets, Given(value, name))
    _take_variables_of_hami(environment, result)
    return result


def _close_switches(words: Sequence[str]) -> list[str]:
    """Return *words* with each bare switch of a command that takes words made whole.

    The parser would else take the word behind it for its value.
    """
    if not words or words[0] not in _TAKES_WORDS:
        return list(words)
    switches = {option.flag for option in OPTIONS if option.metavar is None}
    return [f"{word}=true" if word in switches else word for word in words]


def _take_peers(
    found: Sequence[peers.PeerValue], result: Arguments
) -> Sequence[tuple[str, str, str]]:
    """Take the peers' options over; return what they mean where nobody says otherwise."""
    if found and result.command not in _OF_PEERS:
        result.problems += [
            f"{peer.typed} belongs to run; remove it from {result.command}" for peer in found
        ]
        return ()
    translated = peers.translate(found)
    result.problems += translated.problems
    result.warnings += translated.warnings
    for sets, value, name in translated.given:
        _add(result, sets, Given(value, name))
    return translated.implied


def _take_flags(known: Mapping[str, object], result: Arguments) -> None:
    for option in OPTIONS:
        values = known.get(option.sets)
        if not isinstance(values, list):
            continue
        for value in values:
            if value == _MISSING:
                result.problems.append(f"{option.flag} has no value; write {option.flag}=VALUE")
            else:
                _add(result, option.sets, Given(value, option.flag))


def _add(result: Arguments, sets: str, new: Given) -> None:
    """Record *new*; two different values for one setting contradict each other."""
    old = result.given.setdefault(sets, new)
    if old.value == new.value:
        return
    if {old.name.lstrip("-"), new.name.lstrip("-")} == {"v", "hw_loglevel"}:
        # Two loggers in the older plugin, one here: the more talkative wish is granted.
        result.given[sets] = min(old, new, key=lambda given: given.value != "debug")
        return
    result.problems.append(
        f"{old.name}={old.value[:80]} and {new.name}={new.value[:80]} contradict each other; "
        "keep one"
    )


def _take_environment(environment: Mapping[str, str], result: Arguments) -> None:
    by_variable = {option.variable: option for option in OPTIONS}
    for name in sorted(environment):
        if not name.startswith(_PREFIX):
            continue
        option = by_variable.get(name)
        if option is None:
            if not _SERVICE_VARIABLE.fullmatch(name.removeprefix(_PREFIX)):
                hint = _nearest(name, list(by_variable))
                result.warnings.append((name, f"no option has this name{hint}"))
        elif result.command in option.commands:
            result.given.setdefault(option.sets, Given(environment[name], name))
    if result.command in _OF_PEERS:
        if address := _api_server(environment):
            result.given["api_server"] = Given(address, "KUBERNETES_SERVICE_HOST")
        if environment.get("NODE_NAME"):
            result.given.setdefault("node_name", Given(environment["NODE_NAME"], "NODE_NAME"))
        if environment.get("ASCEND_DOCKER_RUNTIME") == "True":
            result.given["docker_runtime"] = Given("true", "ASCEND_DOCKER_RUNTIME")


def _take_variables_of_hami(environment: Mapping[str, str], result: Arguments) -> None:
    """Read what HAMi's plugin reads; elsewhere names as these may mean anything."""
    dialect = result.given.get("dialect")
    if result.command not in _OF_PEERS or dialect is None or dialect.value != "hami":
        return
    for name, sets in _VARIABLES_OF_HAMI.items():
        if value := environment.get(name):
            counts = result.given.setdefault(sets, Given(value, name))
            if counts.value != value:
                # The chart gives every option: a variable beside it only looks as if it held.
                result.warnings.append((name, f"{counts.name} is given too, and comes first"))


def _api_server(environment: Mapping[str, str]) -> str | None:
    """Return the address of the API server as every pod is told it, None outside pods."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        return None
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _unknowns(words: Sequence[str], command: Command) -> list[str]:
    """Return a violation for each word nobody knows, but for the value of an unknown option."""
    previous = ("", *words)
    return [
        _unknown(word, command)
        for word, before in zip(words, previous, strict=False)
        if word.startswith("-") or not before.startswith("-") or "=" in before
    ]


def _unknown(word: str, command: Command) -> str:
    if not word.startswith("-"):
        return f"{word[:80]!r} is no option; remove it (values of options stand behind =)"
    name = word.partition("=")[0]
    options = [option for option in OPTIONS if option.flag == name]
    if options:
        users = ", ".join(sorted(options[0].commands))
        return f"{name} is no option of {command}, but of {users}; remove it"
    return f"{name[:80]} is no option of {command}{_nearest(name, _flags(command))}; see --help"


def _flags(command: Command) -> list[str]:
    own = [option.flag for option in OPTIONS if command in option.commands]
    return own + [f"--{name}" for name in peers.MEANINGS] if command in _OF_PEERS else own


def _nearest(name: str, names: list[str]) -> str:
    import difflib  # noqa: PLC0415 -- for mistakes alone

    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]}" if close else ""


def option_of(sets: str) -> Option | None:
    """Return the option that sets a field, None where only a variable does."""
    return next((option for option in OPTIONS if option.sets == sets), None)
