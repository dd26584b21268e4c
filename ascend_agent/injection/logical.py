"""How an image's own runtime counts the NPUs of its container: 0 to n-1 (AL-13).

An addition to any way in, for images that count wrongly by themselves. Which NPUs they are, and
how they get in, stays the way's.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ascend_agent.interfaces import Injection
from ascend_agent.model.allocation import InjectionWants
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu

_LOGICAL: Final = "ASCEND_RT_VISIBLE_DEVICES"
"""Read by CANN inside the container, never by the container runtime."""


class WithLogicalIds:
    """A way in, with the list of logical ids on top; it is called as that way is."""

    def __init__(self, way: Injection) -> None:
        self._way = way

    @property
    def name(self) -> str:
        """Return the way's name: who hands the NPUs in is the same."""
        return self._way.name

    @property
    def reads_mounts(self) -> bool:
        """Return whether the way does."""
        return self._way.reads_mounts

    def wants(
        self, npus: Sequence[tuple[Npu, ChipSpec]], *, base_mounts: tuple[str, ...] | None
    ) -> InjectionWants:
        """Return what the way wants, and the list."""
        wants = self._way.wants(npus, base_mounts=base_mounts)
        ids = ",".join(str(index) for index in range(len(npus)))
        return replace(wants, envs={**wants.envs, _LOGICAL: ids})
