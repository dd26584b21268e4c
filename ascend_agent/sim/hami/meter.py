"""The metrics page as a monitoring system reads it: what containers use of their slices."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from ascend_agent.runtime.threads import Threads
from ascend_agent.sim.entries import Entry, Fact

_LINE: Final = re.compile(
    r"hami_vgpu_memory_(used|limit)_bytes\{(?P<labels>[^}]*)\} (?P<value>[0-9.e+]+)"
)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')
_EVERY_S: Final = 1.0  # nobody tells that a page has changed; a real scrape comes every 15 s
_RENDER_S: Final = 10.0
_MIB: Final = 1 << 20

Use = tuple[int, int]
"""Bytes used and allowed."""


def parse_uses(page: str) -> Mapping[str, Use]:
    """Return what each container uses and may use, by ``namespace/pod container``."""
    found: dict[str, list[int]] = {}
    for line in _LINE.finditer(page):
        labels = dict(_LABEL.findall(line["labels"]))
        where = f"{labels['namespace']}/{labels['pod']} {labels['container']}"
        sums = found.setdefault(where, [0, 0])
        sums[line[1] == "limit"] += int(float(line["value"]))
    return {where: (used, limit) for where, (used, limit) in found.items()}


class Meter:
    """Reads the page that *render* makes, and tells of each container whose use is another."""

    def __init__(self, *, render: Callable[[], bytes], tell: Callable[[Entry], None]) -> None:
        self._render = render
        self._tell = tell
        self._known: Mapping[str, Use] = {}
        self._threads = Threads(name="sim-meter", limit=1)

    async def run(self) -> NoReturn:
        """Read the page until cancelled."""
        while True:
            await asyncio.sleep(_EVERY_S)
            page = await self._threads.run(self._render, deadline_s=_RENDER_S)
            uses = parse_uses(page.decode())
            for where, use in uses.items():
                if use != self._known.get(where):
                    pod, _, container = where.partition(" ")
                    used, limit = (bytes_ // _MIB for bytes_ in use)
                    facts: dict[str, Fact] = {
                        "pod": pod,
                        "container": container,
                        "used_mib": used,
                        "limit_mib": limit,
                    }
                    self._tell(Entry(at_ns=time.monotonic_ns(), event="metered", facts=facts))
            self._known = uses
