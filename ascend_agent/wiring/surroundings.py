"""What looks at the things around an NPU: its DPU, its network ports, and whether work stands."""

from functools import partial
from typing import TYPE_CHECKING

from ascend_agent.driver.trusted import check_program
from ascend_agent.driver.usage import DriverUsage
from ascend_agent.flows.watch_links import WatchLinks
from ascend_agent.host.hccn import HccnPorts
from ascend_agent.host.small_file import LocalFile
from ascend_agent.host.tool import Tool
from ascend_agent.interfaces import NicWatcher, ProcessClock, SmallFile, TrafficReader
from ascend_agent.model.surroundings import LinkState
from ascend_agent.runtime.supervisor import TaskSpec
from ascend_agent.settings import LinkStep
from ascend_agent.wiring.parts import ENDLESS, SPECS, Parts, spec_of

if TYPE_CHECKING:
    from ascend_agent.host.stated_ports import PortChange, StatedPorts

_DPU_CONFIG_BYTES = 64 * 1024
_TOOL_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def dpu_tasks(parts: Parts) -> list[TaskSpec]:
    """Return what watches the network cards, where it is known which NPU has which."""
    settings = parts.settings
    if parts.simulated:
        file, nics = _stated_dpus(parts)
    elif settings.dpu_config is not None:
        from ascend_agent.host.nics import SysfsNics  # noqa: PLC0415 -- for --dpu-config alone

        # Where the host's file system is mounted, its /sys shows the host's interfaces.
        nics = SysfsNics(root=settings.host_root / "sys")
        file = LocalFile(settings.dpu_config, limit=_DPU_CONFIG_BYTES)
    else:
        return []
    from ascend_agent.flows.poll_dpus import PollDpus  # noqa: PLC0415 -- as above

    flow = PollDpus(
        file=file,
        name=str(settings.dpu_config or "simulated node"),
        nics=nics,
        inventory=parts.bus.inventory,
        dpus=parts.bus.dpus.claim("poll-dpus"),
        spec_of=spec_of,
        clock=parts.clock,
    )
    return [TaskSpec(name="poll-dpus", backoff=ENDLESS, run=flow.run)]


def port_tasks(parts: Parts) -> list[TaskSpec]:
    """Return what looks at network ports, and for silence, to which their traffic belongs."""
    bus = parts.bus
    ports = _stated_ports(parts) if parts.simulated else HccnPorts(_hccn_tool(parts))
    links = WatchLinks(links=ports, specs=SPECS, bus=bus, states=bus.links.claim("watch-links"))
    made = [TaskSpec(name="watch-links", backoff=ENDLESS, run=links.run)]
    if parts.settings.hang_detection:
        made.append(_hang_task(parts, ports))
    return made


def _stated_dpus(parts: Parts) -> tuple[SmallFile, NicWatcher]:
    from ascend_agent.host import stated_nics as stated  # noqa: PLC0415 -- no real node's

    node = parts.settings.simulated
    changes = [
        stated.StatedChange(at_s=step.at_s, name=step.dpu, operstate=step.operstate)
        for step in node.dpu_steps
    ]
    nics = stated.StatedNics(cards=node.dpus, changes=changes, started=parts.started)
    return stated.StatedFile(stated.STATED_CONFIG), nics


def _hang_task(parts: Parts, traffic: TrafficReader) -> TaskSpec:
    from ascend_agent.flows import detect_hangs  # noqa: PLC0415 -- for --hang-detection alone

    config = parts.settings.hang_config
    flow = detect_hangs.DetectHangs(
        probes=detect_hangs.HangProbes(
            usage=DriverUsage(parts.worker),
            processes=_process_clock(parts),
            traffic=traffic,
            config=LocalFile(config) if config else None,
        ),
        specs=SPECS,
        inventory=parts.bus.inventory,
        hangs=parts.bus.hangs.claim("detect-hangs"),
        clock=parts.clock,
    )
    return TaskSpec(name="detect-hangs", backoff=ENDLESS, run=flow.run)


def _process_clock(parts: Parts) -> ProcessClock:
    if parts.simulated:
        from ascend_agent.host.stated_ports import StillProcesses  # noqa: PLC0415 -- as below

        return StillProcesses()
    from ascend_agent.host.process_clock import ProcClock  # noqa: PLC0415 -- as above

    return ProcClock()


def _stated_ports(parts: Parts) -> "StatedPorts":
    from ascend_agent.host.stated_ports import StatedPorts  # noqa: PLC0415 -- no real node's

    changes = [_port_change(step) for step in parts.settings.simulated.link_steps]
    return StatedPorts(changes, started=parts.started)


def _port_change(step: LinkStep) -> "PortChange":
    from ascend_agent.host.stated_ports import PortChange  # noqa: PLC0415 -- as above

    link_down = None if step.link is None else step.link == "down"
    state = LinkState(link_down=link_down, bonding_down=step.bonded_down, ub_down=step.ub_down)
    return PortChange(at_s=step.at_s, npu=step.npu, state=state)


def _hccn_tool(parts: Parts) -> Tool:
    settings = parts.settings
    return Tool(
        path=settings.hccn_tool,
        check=partial(check_program, allow_unsafe=settings.allow_unsafe_library),
        environment={"PATH": _TOOL_PATH, "LD_LIBRARY_PATH": parts.library_path},
    )
