"""The check ``container-runtime``: whether NPUs get into containers the way that is set.

Each way needs something else of the runtime: ascend-docker-runtime wired in, CDI switched on, or
nothing (IM-4, IM-5).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ascend_agent.doctor.answers import ClusterFacts, OwnNode
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.runtime_files import ConfigFile, find_configs
from ascend_agent.settings import InjectionWay, Settings

_PROGRAMS: Final = (
    "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime",
    "/usr/local/bin/ascend-docker-runtime",
    "/usr/bin/ascend-docker-runtime",
)
_DEFAULT_DIRS: Final = ("/etc/cdi", "/var/run/cdi")
_WITH_CDI: Final = ("containerd://2.", "containerd://v2.")
_WITHOUT_CDI: Final = "v1.28."
_WHAT: Final = "container runtime"
_UNSEEN: Final = (
    "no configuration of containerd, Docker or CRI-O can be seen from here: run the doctor on the "
    "node itself, or with --host-root where the pod has the host's /etc"
)


async def _look(place: Place) -> tuple[Finding, ...]:
    node = await _own_node(place)
    files = await place.off_loop(lambda: find_configs(place.on_host))
    installed = await place.off_loop(
        lambda: any(place.on_host(path).exists() for path in _PROGRAMS)
    )
    return tuple(judge(place.settings, files, installed=installed, node=node))


async def _own_node(place: Place) -> OwnNode:
    """Return the own Node, which tells versions that no file does; an empty one if unknown."""
    answer = await place.cluster()
    if isinstance(answer, ClusterFacts) and isinstance(answer.node, OwnNode):
        return answer.node
    return OwnNode()


def judge(
    settings: Settings, files: Sequence[ConfigFile], *, installed: bool, node: OwnNode
) -> Iterator[Finding]:
    """Yield what the way in has to say about the runtimes' configuration."""
    for file in files:
        if file.trouble:
            yield warn(
                "configuration unreadable",
                f"{file.path}: {file.trouble}",
                remedy="correct the file; the runtime itself may refuse to start with it",
            )
    readable = [file for file in files if not file.trouble]
    match settings.way:
        case InjectionWay.RUNTIME:
            yield _judge_wiring(settings, readable, installed=installed)
        case InjectionWay.CDI if readable:
            yield from (_judge_cdi(settings, file, runtime=node.runtime) for file in readable)
        case _ if not readable:
            yield skipped(_WHAT, _UNSEEN)
        case _:
            yield ok("device nodes need no special runtime", _names(readable))
    for file in readable:
        if file.config.ascend_by_default:
            yield _by_default(file)
    if settings.way is InjectionWay.CDI and node.kubelet.startswith(_WITHOUT_CDI):
        yield warn(
            "kubelet may ignore cdi",
            f"kubelet {node.kubelet}: the feature gate DevicePluginCDIDevices is off by default "
            "before 1.29",
            remedy="switch the gate on, or take --inject devices",
        )


def _judge_wiring(settings: Settings, files: Sequence[ConfigFile], *, installed: bool) -> Finding:
    wired = [
        f"{file.path}: {', '.join(file.config.ascend)}" for file in files if file.config.ascend
    ]
    if wired:
        return ok("ascend-docker-runtime is wired in", "; ".join(wired))
    if settings.docker_runtime:
        return ok("ascend-docker-runtime is in use", "it started this very container")
    if not files:
        return warn(
            "ascend-docker-runtime not seen",
            f"it did not start this container, and {_UNSEEN}",
            remedy="check on the node; or take --inject devices or --inject cdi",
        )
    state = "installed and not wired in" if installed else "not installed"
    return fail(
        "ascend-docker-runtime missing",
        f"{state}; looked at {_names(files)}",
        remedy="install it and restart the container runtime, or take --inject devices or "
        "--inject cdi: without it containers get an environment variable and no NPU",
    )


def _judge_cdi(settings: Settings, file: ConfigFile, *, runtime: str) -> Finding:
    config = file.config
    dirs = config.cdi_dirs or _DEFAULT_DIRS
    if config.cdi is False:
        return fail(
            "cdi is off",
            f"{file.path} switches it off",
            remedy="set enable_cdi = true and restart the container runtime",
        )
    if _plain(str(settings.cdi_dir)) not in {_plain(each) for each in dirs}:
        return fail(
            "cdi directory not read",
            f"{file.path} reads {', '.join(dirs)}, and --cdi-dir is {settings.cdi_dir}",
            remedy="let --cdi-dir be one of these, or add it to cdi_spec_dirs",
        )
    if config.cdi is None and not runtime.startswith(_WITH_CDI):
        return warn(
            "cdi may be off",
            f"{file.path} does not say; before containerd 2.0 and Docker 28 it is off by default",
            remedy="set enable_cdi = true (Docker: features.cdi) unless the runtime is newer",
        )
    return ok("cdi is on", f"{file.path} reads {', '.join(dirs)}")


def _by_default(file: ConfigFile) -> Finding:
    return warn(
        "every pod gets ascend-docker-runtime",
        f"{file.path}: it is the default runtime, so a pod whose image sets "
        "ASCEND_VISIBLE_DEVICES sees NPUs that it never asked for",
        remedy="let runc be the default, with a RuntimeClass for pods with NPUs (docs/install.md)",
    )


def _names(files: Sequence[ConfigFile]) -> str:
    return ", ".join(file.path for file in files)


def _plain(path: str) -> str:
    """Return *path* with the one link resolved that every distribution has."""
    bare = path.rstrip("/")
    return bare.removeprefix("/var") if bare.startswith("/var/run/") else bare


CHECK: Final = Check(
    name="container-runtime",
    asks="Does the container runtime do what the way in (--inject) needs of it?",
    advice=(
        "ascend-docker-runtime missing: with --inject runtime a container gets its NPUs from that "
        "program alone; it must be installed, named in the runtime's configuration, and the "
        "runtime restarted.\n"
        "CDI off, or its directory not read: with --inject cdi containers fail to start.\n"
        "Every pod gets it: pods that asked for no NPU may see all of them."
    ),
    look=_look,
)
