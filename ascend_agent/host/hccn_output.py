"""What ``hccn_tool`` prints, read strictly: text that differs from what is known is unknown.

Decides what an answer says. None stands for "not understood", which is no state of a port.
Source: the tool's published outputs; versions differ in which lines there are, and in a heading.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_ROCE_COUNTERS: Final = ("roce_tx_all_pkt_num", "roce_rx_all_pkt_num")
_UB_COUNTERS: Final = ("tx_busi_flit_num", "rx_busi_flit_num")
_UP: Final = {"UP": True, "DOWN": False}
_SECTION: Final = "====="
_RULES: Final = 3
"""Rule lines of a table: above and below its heading, and at its end."""
_CELLS: Final = 5
_MOST_PORTS: Final = 64
"""Of a chip, several times as many as any has: each one that is down is asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One port of an A5 chip; ``kind`` is UB, or ETH for one of a bond. ``up`` None: not told."""

    die: int
    number: int
    kind: str
    up: bool | None


def parse_link(text: str) -> bool | None:
    """Return whether the link is up, by the answer ``link status: UP``."""
    match text.split():
        case ["link", "status:", word]:
            return _UP.get(word)
        case _:
            return None


def parse_roce_traffic(text: str) -> int | None:
    """Return the packets sent and received, by the answer to ``-stat``."""
    return _sum(text, _ROCE_COUNTERS)


def parse_ub_traffic(text: str) -> int | None:
    """Return the flits sent and received of one A5 port, by the answer to ``-stat``."""
    return _sum(text, _UB_COUNTERS)


def parse_wired(text: str) -> bool | None:
    """Return whether an A5 port is enabled, by the first section of the answer to ``-port_info``.

    Later sections repeat some names.
    """
    sections = 0
    for line in text.splitlines():
        sections += line.startswith(_SECTION)
        name, colon, value = line.partition(":")
        if sections <= 1 and colon and name.strip() == "port_enable":
            return value.strip() == "on"
    return None


def parse_ports(text: str) -> tuple[Port, ...] | None:
    """Return the ports of an A5 chip, by the first table of the answer to ``-dev_info``.

    A chip without ports makes the tool print nothing. Further tables may follow the first.
    """
    if not text.strip():
        return ()
    rows = _first_table(text)
    if rows is None:
        return None
    heading, *cells = rows
    if [_letters(cell) for cell in heading[:2]] != ["udieid", "portid"]:
        return None
    if len(cells) > _MOST_PORTS:
        return None
    ports = [_port(row) for row in cells]
    known = tuple(port for port in ports if port is not None)
    return known if len(known) == len(ports) else None


def _port(row: Sequence[str]) -> Port | None:
    if len(row) < _CELLS or not _is_number(row[0]) or not _is_number(row[1]):
        return None
    return Port(die=int(row[0]), number=int(row[1]), kind=row[3], up=_UP.get(row[4]))


def _first_table(text: str) -> list[list[str]] | None:
    """Return the rows of the first table, the heading first; None where it is cut off."""
    rows: list[list[str]] = []
    rules = 0
    for line in text.splitlines():
        line_ = line.strip()
        if line_.startswith("+"):
            rules += 1
            if rules == _RULES:
                return rows or None
        elif rules and line_.startswith("|"):
            rows.append([cell.strip() for cell in line_.strip("|").split("|")])
        elif rules and line_:
            return None
    return None


def _sum(text: str, names: Sequence[str]) -> int | None:
    found = {name: int(value) for name, value in _pairs(text) if _is_number(value)}
    return sum(found[name] for name in names) if all(name in found for name in names) else None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip(), value.strip()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 20  # noqa: PLR2004 -- digits of 64 bits


def _letters(text: str) -> str:
    return "".join(text.split()).lower()
