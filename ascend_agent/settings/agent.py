"""Everything the agent can be told, with its default, unit and range.

Names are those of the options (``kubelet_dir`` is ``--kubelet-dir``). Contradictions between
settings are found in ``build``, because they concern what was given, not what came of it.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field, GetPydanticSchema, WithJsonSchema
from pydantic_core.core_schema import no_info_plain_validator_function

from ascend_agent.model.world import SharePolicy
from ascend_agent.settings.forms import (
    AbsolutePath,
    ApiServerUrl,
    ConfigMapName,
    Directories,
    Listener,
    NodeNameText,
    PluginDirectory,
    SocketPath,
)
from ascend_agent.settings.hami import HamiSettings
from ascend_agent.settings.simulated import SimulatedNode


class DriverKind(StrEnum):
    """What stands behind the driver worker."""

    DCMI = "dcmi"
    SIMULATED = "simulated"


class DialectName(StrEnum):
    """Which scheduler decides who gets what; ``plain``: the kubelet."""

    PLAIN = "plain"
    HAMI = "hami"


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


def _node(value: object) -> SimulatedNode:
    return value if isinstance(value, SimulatedNode) else SimulatedNode.model_validate(value)


LateNode = Annotated[
    SimulatedNode,
    GetPydanticSchema(lambda _source, _handler: no_info_plain_validator_function(_node)),
    WithJsonSchema({"type": "object"}),
]
"""A node whose validator is built when the first is given: it takes 1 MiB and real nodes none."""


class Settings(HamiSettings):
    """The settings of one agent; frozen, each valid in itself."""

    dialect: DialectName = Field(
        default=DialectName.PLAIN, description="scheduler that decides who gets what"
    )
    driver: DriverKind = Field(default=DriverKind.DCMI, description="vendor library, or simulated")
    library: AbsolutePath | None = Field(
        default=None, description="path of libdcmi.so; searched for by default"
    )
    library_path: Directories | None = Field(
        default=None,
        description="directories of driver libraries for the worker alone, joined by colons; "
        "LD_LIBRARY_PATH by default",
    )
    allow_unsafe_library: bool = Field(
        default=False, description="load a library that others than root can write"
    )
    simulated: LateNode = Field(
        default_factory=SimulatedNode.model_construct,
        description="the node of the simulated driver",
    )
    kubelet_dir: AbsolutePath = Field(
        default=Path("/var/lib/kubelet"), description="the kubelet's root directory (--root-dir)"
    )
    device_plugin_dir: PluginDirectory = Field(
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
    state_dir: AbsolutePath = Field(
        default=Path("/var/lib/ascend-agent"),
        description="directory of what must outlive a restart: isolated NPUs, and why",
    )
    node_name: NodeNameText | None = Field(
        default=None, description="name of the own Node object; without it no API server is used"
    )
    kubeconfig: AbsolutePath | None = Field(
        default=None, description="file with API server and credentials; the pod's own by default"
    )
    api_server: ApiServerUrl | None = Field(
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
    node_annotations: bool = Field(
        default=True,
        description="list isolated NPUs in annotations of the node, where people release them",
    )
    kubernetes_events: bool = Field(
        default=True, description="tell of faults and recoveries by Events of the node"
    )
    fault_config_dir: AbsolutePath | None = Field(
        default=None,
        description="directory of faultCode.json, SwitchFaultCode.json, faultCustomization.json",
    )
    fault_config_map: ConfigMapName | None = Field(
        default=None,
        description="NAMESPACE/NAME of a ConfigMap with the same files; it wins over them",
    )
    hang_detection: bool = Field(
        default=False, description="report NPUs on which processes wait and nothing moves"
    )
    hang_config: AbsolutePath | None = Field(
        default=None, description="file with thresholds of the hang detection"
    )
    dpu_config: AbsolutePath | None = Field(
        default=None,
        description="file that names the DPU NICs of an A5 node; without it none is looked at",
    )
    hccn_tool: AbsolutePath = Field(
        default=Path("/usr/local/Ascend/driver/tools/hccn_tool"),
        description="the driver's tool that tells of network ports",
    )
    switch_library: AbsolutePath | None = Field(
        default=None, description="path of liblingqu-dcmi.so; searched for by default"
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
    http: Listener = Field(
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
        """The way in that is taken: ``auto`` follows the container runtime.

        HAMi's pods run with the vendor's, which acts on what the answer's environment says.
        """
        if self.inject is not InjectionWay.AUTO:
            return self.inject
        if self.dialect is DialectName.HAMI:
            return InjectionWay.RUNTIME
        return InjectionWay.RUNTIME if self.docker_runtime else InjectionWay.DEVICES

    @property
    def injection(self) -> str:
        """The name of what fills an answer: HAMi's plugin tells the vendor's runtime less."""
        hami = self.dialect is DialectName.HAMI
        return "visible" if hami and self.way is InjectionWay.RUNTIME else self.way.value

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
            "switch_library": str(self.switch_library) if self.switch_library else None,
            "allow_unsafe_library": self.allow_unsafe_library,
            "library_path": library_path,
        }
