"""A stand-in for ``hccn_tool``: a real program that answers what a test wrote down."""

from pathlib import Path

_SCRIPT = """#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
answer="$here/$(echo "$*" | tr ' ' '_')"
[ -f "$answer" ] || { echo "parameter error" >&2; exit 1; }
cat "$answer"
"""

PORTS = """\
+---------+---------+---------------------+-----------+-------------+------------+
| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | Media Type |
+---------+---------+---------------------+-----------+-------------+------------+
{rows}+---------+---------+---------------------+-----------+-------------+------------+
"""
"""The tool's table of ports; rows come from ``row``."""

MORE_TABLES = """\
+-----------------+--------------+---------------+-----------+--------+
| Interface Name  | IP Address   | Netmask       | Bond Mode | Slaves |
+-----------------+--------------+---------------+-----------+--------+
| end0v0          | 192.0.2.10   | 255.255.255.0 | NA        | NA     |
+-----------------+--------------+---------------+-----------+--------+
+-------+-----------+-----------------------------------------+
| Name  | EID Index | EID                                     |
+-------+-----------+-----------------------------------------+
| udma1 | 0         | 0000:0000:0000:0000:0010:0000:df00:0001 |
|       | 1         | 0000:0000:0000:0000:0010:0000:df00:0002 |
+-------+-----------+-----------------------------------------+
"""


def row(die: int, port: int, kind: str, link: str) -> str:
    """Return one row of ``PORTS``."""
    return f"| {die:<7} | {port:<7} | 400 | {kind:<9} | {link:<11} | Electrical |\n"


class FakeHccnTool:
    """The program at ``path``; what it was asked is in ``calls``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.path = directory / "hccn_tool"
        self.path.write_text(_SCRIPT)
        self.path.chmod(0o755)

    def answers(self, arguments: str, text: str) -> None:
        """Answer *text* to *arguments* from now on."""
        new = self._directory / "new"
        new.write_text(text)
        new.rename(self._directory / arguments.replace(" ", "_"))  # whole, whoever reads it now

    def forgets(self, arguments: str) -> None:
        """Refuse *arguments* from now on."""
        (self._directory / arguments.replace(" ", "_")).unlink()

    @property
    def calls(self) -> list[str]:
        """Return the arguments of every run so far."""
        log = self._directory / "calls"
        return log.read_text().splitlines() if log.exists() else []
