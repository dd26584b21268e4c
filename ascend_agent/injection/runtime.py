"""Environment for the vendor's container runtime, which hands in everything by itself.

ascend-docker-runtime reads these variables when a container is created. They do nothing where it
is not installed (IM-5), so ``auto`` chooses this way only if it started the agent itself.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from ascend_agent.interfaces import Injection
from ascend_agent.model.allocation import InjectionWants
from ascend_agent.model.chip import ChipSpec, VisibleIds
from ascend_agent.model.npu import Npu

_VISIBLE: Final = "ASCEND_VISIBLE_DEVICES"
_OPTIONS: Final = "ASCEND_RUNTIME_OPTIONS"


class RuntimeEnvironment:
    """The vendor's runtime hands in what the environment names."""

    name: ClassVar[str] = "runtime"
    reads_mounts = False

    def wants(
        self,
        npus: Sequence[tuple[Npu, ChipSpec]],
        *,
        base_mounts: tuple[str, ...] | None,  # noqa: ARG002 -- the runtime reads the list itself
    ) -> InjectionWants:
        """Return the variables; ids ascend, since images count devices by position (AL-13).

        ``ASCEND_RUNTIME_OPTIONS`` is set though empty, as MindCluster's plugin has it for NPUs
        that are not sliced.
        """
        envs = {name: value for _, spec in npus for name, value in spec.runtime_envs.items()}
        ids = sorted({_visible_id(npu, spec) for npu, spec in npus})
        return InjectionWants(envs={_VISIBLE: ",".join(map(str, ids)), _OPTIONS: "", **envs})


def _visible_id(npu: Npu, spec: ChipSpec) -> int:
    if spec.visible_ids is VisibleIds.PHYSICAL:
        return npu.phy
    return (npu.address or npu.identity.address).logic


INJECTION: Final[Injection] = RuntimeEnvironment()
