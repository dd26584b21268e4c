"""Everything the agent can be told, with its default, unit and range.

Names are those of the options (``kubelet_dir`` is ``--kubelet-dir``). Contradictions between
settings are found in ``build``, because they concern what was given, not what came of it.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from ascend_agent.model.world import SharePolicy
from ascend_agent.settings.simulated import SimulatedNode

_LONGEST_SOCKET = 107  # bytes of a Unix socket's path
_LONGEST_PLUGIN_DIR = 75  # leaves room for the longest socket name below it
_LARGEST_PORT = 65535
_HTTP = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:]*):(?P<port>[0-9]{1,5})")
_API_SERVER = re.compile(r"https?://(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?")
_NODE_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)


class DriverKind(StrEnum):
    """What stands behind the driver worker."""

    DCMI = "dcmi"
    SIMULATED = "simulated"


class InjectionWay(StrEnum):
    """How NPUs get into a container; ``auto`` follows the container runtime."""

    RUNTIME = "runtime"
    DEVICES = "devices"
    CDI = "cdi"
    AUTO = "auto"


class LogLevel(StrEnum):
    """The least level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class LogStyle(StrEnum):
    """JSON for the cluster, console for people."""

    JSON = "json"
    CONSOLE = "console"


class HttpAddress(BaseModel):
    """Where the HTTP server listens; ``host`` None means every address of the host."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str | None
    port: int = Field(ge=0, le=_LARGEST_PORT, description="0 lets the system choose")


def _parse_http(value: object) -> object:
    """Return the address of ``ADDR:PORT``, ``[IPv6]:PORT`` or ``:PORT``."""
    if not isinstance(value, str):
        return value
    match = _HTTP.fullmatch(value)
    if match and int(match["port"]) <= _LARGEST_PORT:
        host = match["host"].strip("[]")
        if host in {"", "localhost"} or _is_ip(host):
            return HttpAddress(host=host or None, port=int(match["port"]))
    raise PydanticCustomError(
        "setting", "is no ADDR:PORT; give an IP address and a port, such as 127.0.0.1:9100 or :9100"
    )


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise PydanticCustomError("setting", "is no absolute path; start it with /")
    return path


def _socket_path(path: Path) -> Path:
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        raise PydanticCustomError(
            "setting",
            "is too long for a socket; use a path of at most {most} bytes",
            {"most": _LONGEST_SOCKET},
        )
    return path


def _plugin_dir(path: Path) -> Path:
    if len(os.fsencode(path)) > _LONGEST_PLUGIN_DIR:
        raise PydanticCustomError(
            "setting",
            "leaves no room for socket names; use a path of at most {most} bytes",
            {"most": _LONGEST_PLUGIN_DIR},
        )
    return path


def _node_name(name: str) -> str:
    if not _NODE_NAME.fullmatch(name):
        raise PydanticCustomError(
            "setting", "is no node name; give the name of this node as kubectl shows it"
        )
    return name


def _directories(text: str) -> str:
    if not all(part.startswith("/") for part in text.split(":")):
        raise PydanticCustomError(
            "setting", "names something else than absolute directories; join those with colons"
        )
    return text


def _api_server(url: str) -> str:
    if not _API_SERVER.fullmatch(url):
        raise PydanticCustomError(
            "setting", "is no address of an API server; it looks like https://10.96.0.1:443"
        )
    return url


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
SocketPath = Annotated[AbsolutePath, AfterValidator(_socket_path)]


class Settings(BaseModel):
    """The settings of one agent; frozen, each valid in itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    driver: DriverKind = Field(default=DriverKind.DCMI, description="vendor library, or simulated")
    library: AbsolutePath | None = Field(
        default=None, description="path of libdcmi.so; searched for by default"
    )
    library_path: Annotated[str, AfterValidator(_directories)] | None = Field(
        default=None,
        description="directories of driver libraries for the worker alone, joined by colons; "
        "LD_LIBRARY_PATH by default",
    )
    allow_unsafe_library: bool = Field(
        default=False, description="load a library that others than root can write"
    )
    simulated: SimulatedNode = Field(
        default=SimulatedNode(), description="the node of the simulated driver"
    )
    kubelet_dir: AbsolutePath = Field(
        default=Path("/var/lib/kubelet"), description="the kubelet's root directory (--root-dir)"
    )
    device_plugin_dir: Annotated[AbsolutePath, AfterValidator(_plugin_dir)] = Field(
        default=Path("/var/lib/kubelet/device-plugins"),
        description="directory of plugin sockets; the kubelet's --root-dir does not move it",
    )
    kubelet_socket: SocketPath = Field(
        default_factory=lambda given: given["device_plugin_dir"] / "kubelet.sock",
        description="the kubelet's registration socket",
    )
    pod_resources_socket: SocketPath = Field(
        validate_default=True,
        default_factory=lambda given: given["kubelet_dir"] / "pod-resources" / "kubelet.sock",
        description="the kubelet's pod-resources socket",
    )
    run_dir: AbsolutePath = Field(
        default=Path("/run/ascend-agent"), description="directory of the node lock"
    )
    node_name: Annotated[str, AfterValidator(_node_name)] | None = Field(
        default=None, description="name of the own Node object; without it no API server is used"
    )
    kubeconfig: AbsolutePath | None = Field(
        default=None, description="file with API server and credentials; the pod's own by default"
    )
    api_server: Annotated[str, AfterValidator(_api_server)] | None = Field(
        default=None, description="address of the API server that every pod is told"
    )
    service_account_dir: AbsolutePath = Field(
        default=Path("/var/run/secrets/kubernetes.io/serviceaccount"),
        description="directory of the pod's token and CA certificate",
    )
    relax_tls: bool = Field(
        default=False, description="accept cluster CAs that Python 3.13's strict check refuses"
    )
    node_labels: bool = Field(
        default=True, description="keep the node's labels about its NPUs (chip, memory, driver)"
    )
    shares: int = Field(default=1, ge=1, le=100, description="kubelet devices an NPU")
    share_policy: SharePolicy = Field(
        default=SharePolicy.SPREAD, description="spread shares over NPUs, or pack them"
    )
    inject: InjectionWay = Field(
        default=InjectionWay.AUTO, description="how NPUs get into a container"
    )
    logical_ids: bool = Field(
        default=False, description="also set ASCEND_RT_VISIBLE_DEVICES to 0..n-1 in containers"
    )
    docker_runtime: bool = Field(
        default=False, description="containers run with ascend-docker-runtime"
    )
    cdi_dir: AbsolutePath = Field(
        default=Path("/var/run/cdi"), description="directory of the CDI specification"
    )
    http: Annotated[HttpAddress | None, BeforeValidator(_parse_http)] = Field(
        default=None,
        description="ADDR:PORT of /metrics, /healthz, /readyz, /status; off by default",
    )
    log_level: LogLevel = Field(
        default=LogLevel.INFO, description="least level that is logged; critical in sim and devices"
    )
    log_style: LogStyle = Field(
        default=LogStyle.JSON, description="form of the log lines; console in sim and devices"
    )
    health_interval_s: float = Field(
        default=5, ge=1, le=1800, description="seconds between health readings of an NPU"
    )
    poll_interval_s: float = Field(
        default=2, ge=0.5, le=1800, description="the same for chips without fault callbacks"
    )
    failed_rounds: int = Field(
        default=3, ge=1, le=100, description="failed health readings in a row that take an NPU out"
    )
    rescan_interval_s: float = Field(
        default=300, ge=10, le=86400, description="seconds between looks for new or lost cards"
    )
    device_reset_timeout_s: float = Field(
        default=600, ge=10, le=600, description="seconds to wait for missing cards at start"
    )
    driver_grace_s: float = Field(
        default=30, ge=0, le=3600, description="seconds devices keep their health without driver"
    )
    query_deadline_s: float = Field(
        default=3, ge=0.1, le=60, description="deadline of one driver query in seconds"
    )
    allocate_timeout_s: float = Field(
        default=10, ge=1, le=60, description="deadline of one Allocate in seconds"
    )
    refuse_held: bool = Field(
        default=True, description="refuse an NPU that a process of another pod still holds"
    )
    host_root: AbsolutePath = Field(
        default=Path("/"), description="where the host's file system is mounted"
    )

    @property
    def way(self) -> InjectionWay:
        """The way in that is taken: ``auto`` follows the container runtime."""
        if self.inject is not InjectionWay.AUTO:
            return self.inject
        return InjectionWay.RUNTIME if self.docker_runtime else InjectionWay.DEVICES

    @property
    def api_obstacle(self) -> str:
        """Why no API server can be used, as far as settings tell; empty: one can be tried."""
        if self.node_name is None:
            return "the name of the own node is not known: set NODE_NAME or --node-name"
        if self.kubeconfig is None and self.api_server is None:
            return "this is no pod, and no --kubeconfig was given"
        return ""

    def worker_config(self, *, library_path: str, started_ns: int) -> Mapping[str, object]:
        """Return the driver worker's configuration, as plain values.

        *library_path* is LD_LIBRARY_PATH; *started_ns* (CLOCK_MONOTONIC) is when a simulated node
        starts, so that each new worker replays its scenario from the same instant.
        """
        if self.driver is DriverKind.SIMULATED:
            return self.simulated.backend_config(started_ns)
        return {
            "library": str(self.library) if self.library else None,
            "allow_unsafe_library": self.allow_unsafe_library,
            "library_path": library_path,
        }
