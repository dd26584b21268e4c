"""The vendor's command-line tool, for the share flag on drivers whose library has no way.

What is decided here: where the tool may lie, what is fed to it, and how its answer is read.
It runs with our rights, so it is taken from its fixed places alone, and only where nobody but
root can replace it. Source: npu-smi, device-share.
"""

import os
from collections.abc import Sequence

from ascend_agent.driver.dcmi import command, trust

PLACES = (
    "/usr/local/Ascend/driver/tools/npu-smi",
    "/usr/local/sbin/npu-smi",
    "/usr/local/bin/npu-smi",
)

_LIMIT_S = 10.0
_YES = b"Y\n"  # setting asks; without an answer the tool ends with status 200
_FLAG = "device-share"
_WORDS = {"True": True, "False": False}


class ToolError(Exception):
    """The tool is absent, not trusted, did not end in time, or says no."""


class NpuSmi:
    """The tool as found on this host, looked up anew each time: drivers are installed late."""

    def __init__(
        self,
        *,
        places: Sequence[str] = PLACES,
        library_path: str = "",
        allow_unsafe: bool = False,
        lstat: trust.Lstat = os.lstat,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._places = places
        self._environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        if library_path:
            self._environment["LD_LIBRARY_PATH"] = library_path
        self._allow_unsafe = allow_unsafe
        self._lstat = lstat
        self._limit_s = limit_s

    def read_share(self, card: int, slot: int) -> bool:
        """Return whether the flag of a chip is on.

        Raises:
            ToolError: the tool gave no answer.

        """
        output = self._run("info", "-t", _FLAG, "-i", str(card), "-c", str(slot))
        return parse_share(output)

    def set_share(self, card: int, slot: int, *, on: bool) -> None:
        """Switch the flag of a chip on or off.

        Raises:
            ToolError: the tool did not do it.

        """
        self._run("set", "-t", _FLAG, "-i", str(card), "-c", str(slot), "-d", str(int(on)))

    def _run(self, *arguments: str) -> str:
        tool = self._find()
        try:
            status, output = command.run(
                (tool, *arguments), feed=_YES, limit_s=self._limit_s, environment=self._environment
            )
        except OSError as error:
            raise ToolError(f"{tool}: {error}") from error
        said = output.decode(errors="replace")
        if status != 0:
            raise ToolError(f"{tool} ended with status {status}: {said.strip()[-80:]}")
        return said

    def _find(self) -> str:
        for place in self._places:
            try:
                self._lstat(place)
            except OSError:  # not installed here: the next place
                continue
            try:
                return trust.check(place, allow_unsafe=self._allow_unsafe, lstat=self._lstat)
            except trust.RefusedError as refusal:
                raise ToolError(str(refusal)) from None
        raise ToolError(f"npu-smi is at none of {', '.join(self._places)}")


def parse_share(output: str) -> bool:
    """Return the flag in a line such as ``<tab>Device-share Status            : True``.

    Raises:
        ToolError: there is no such line.

    """
    for line in output.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip().lower().startswith(_FLAG) and value.strip() in _WORDS:
            return _WORDS[value.strip()]
    raise ToolError(f"npu-smi shows no share flag: {output.strip()[-80:]}")
