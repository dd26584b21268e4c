"""The agent's own options: a name, what it sets, and the commands that know it.

Values stay text here; ``settings`` types and checks them, so that a flag, a variable and a file
are judged alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Command(StrEnum):
    """What the program can be asked to do."""

    RUN = "run"
    SIM = "sim"
    DEVICES = "devices"
    DOCTOR = "doctor"
    FAULTS = "faults"
    DEREGISTER = "deregister"
    VERSION = "version"


COMMANDS: Mapping[Command, str] = MappingProxyType(
    {
        Command.RUN: "serve this node's NPUs to the kubelet until SIGTERM",
        Command.SIM: "play a simulated node with an embedded kubelet, and show it",
        Command.DEVICES: "list the NPUs of this node, once",
        Command.DOCTOR: "check whether this node can serve its NPUs, and say what to do",
        Command.FAULTS: "explain fault codes, and say which levels and rules they have",
        Command.DEREGISTER: "take this node's NPUs back from HAMi's scheduler, once no agent runs",
        Command.VERSION: "print the version",
    }
)

# The doctor judges the settings of run, so it knows every option that run knows.
_RUN = frozenset({Command.RUN, Command.DOCTOR})
_API = _RUN | {Command.DEREGISTER}
_SIM = frozenset({Command.SIM})
_DOCTOR = frozenset({Command.DOCTOR})
_SERVING = frozenset({Command.RUN, Command.SIM, Command.DOCTOR})
_READING = frozenset({Command.RUN, Command.DEVICES, Command.DOCTOR})
_ALL = frozenset({Command.RUN, Command.SIM, Command.DEVICES, Command.DOCTOR})
_LOGGING = _ALL | {Command.DEREGISTER}
_SHOWING = frozenset({Command.SIM, Command.DEVICES, Command.DOCTOR, Command.FAULTS})


@dataclass(frozen=True, slots=True)
class Option:
    """One option; ``sets`` is the field of ``Settings``, or of the command where it has no such.

    ``metavar`` None marks a switch: ``--name``, ``--name=true`` or ``--name=false``.
    """

    name: str
    sets: str
    commands: frozenset[Command]
    metavar: str | None
    help: str

    @property
    def flag(self) -> str:
        """The option as typed."""
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets the same; the flag wins over it."""
        return f"ASCEND_AGENT_{self.name.upper().replace('-', '_')}"


OPTIONS: tuple[Option, ...] = (
    Option(
        "dialect",
        "dialect",
        _SERVING,
        "plain|hami",
        "scheduler that decides who gets what (default plain: the kubelet)",
    ),
    Option(
        "driver",
        "driver",
        _READING,
        "dcmi|simulated",
        "vendor library, or simulated node (default dcmi)",
    ),
    Option("library", "library", _READING, "PATH", "libdcmi.so to load; searched for by default"),
    Option(
        "library-path",
        "library_path",
        _READING,
        "DIR:DIR",
        "driver directories, for the worker alone (by default LD_LIBRARY_PATH)",
    ),
    Option(
        "allow-unsafe-library",
        "allow_unsafe_library",
        _READING,
        None,
        "load a library that others than root can write",
    ),
    Option("chip", "chip", _ALL, "NAME", "chip of the simulated node (default 910B3)"),
    Option("npus", "npus", _ALL, "N", "number of simulated NPUs (default: usual for the chip)"),
    Option("seed", "seed", _ALL, "N", "makes simulated serials and readings differ (default 0)"),
    Option("scenario", "scenario", _ALL, "FILE", "what happens to the simulated node (YAML)"),
    Option(
        "kubelet-dir",
        "kubelet_dir",
        _RUN,
        "DIR",
        "the kubelet's --root-dir (default /var/lib/kubelet)",
    ),
    Option(
        "device-plugin-dir",
        "device_plugin_dir",
        _RUN,
        "DIR",
        "directory of plugin sockets (default /var/lib/kubelet/device-plugins)",
    ),
    Option(
        "kubelet-socket",
        "kubelet_socket",
        _RUN,
        "PATH",
        "the kubelet's registration socket (default kubelet.sock among the plugins')",
    ),
    Option(
        "pod-resources-socket",
        "pod_resources_socket",
        _RUN,
        "PATH",
        "the kubelet's pod-resources socket (default pod-resources/kubelet.sock in its directory)",
    ),
    Option(
        "run-dir", "run_dir", _API, "DIR", "directory of the node lock (default /run/ascend-agent)"
    ),
    Option(
        "state-dir",
        "state_dir",
        _RUN,
        "DIR",
        "what outlives a restart: isolated NPUs (default /var/lib/ascend-agent)",
    ),
    Option(
        "host-root", "host_root", _RUN, "DIR", "where the host's file system is mounted (default /)"
    ),
    Option(
        "node-name",
        "node_name",
        _API,
        "NAME",
        "name of the own Node object (default NODE_NAME); without it no API server is used",
    ),
    Option(
        "kubeconfig",
        "kubeconfig",
        _API,
        "FILE",
        "API server and credentials (default: those of the pod)",
    ),
    Option(
        "service-account-dir",
        "service_account_dir",
        _API,
        "DIR",
        "the pod's token and CA (default /var/run/secrets/kubernetes.io/serviceaccount)",
    ),
    Option(
        "relax-tls",
        "relax_tls",
        _API,
        None,
        "accept cluster CAs that Python 3.13's strict check refuses",
    ),
    Option(
        "node-labels",
        "node_labels",
        _RUN,
        None,
        "keep the node's labels about its NPUs (default true)",
    ),
    Option(
        "node-annotations",
        "node_annotations",
        _RUN,
        None,
        "list isolated NPUs on the node, where people release them (default true)",
    ),
    Option(
        "kubernetes-events",
        "kubernetes_events",
        _RUN,
        None,
        "tell of faults by Events of the node (default true)",
    ),
    Option(
        "fault-config-dir",
        "fault_config_dir",
        _SERVING | {Command.FAULTS},
        "DIR",
        "faultCode.json, SwitchFaultCode.json, faultCustomization.json (default: built-in)",
    ),
    Option(
        "fault-config-map",
        "fault_config_map",
        _RUN,
        "NAMESPACE/NAME",
        "ConfigMap with the same files; it wins over them (default none)",
    ),
    Option(
        "hang-detection",
        "hang_detection",
        _SERVING,
        None,
        "report NPUs on which processes wait and nothing moves",
    ),
    Option(
        "hang-config",
        "hang_config",
        _SERVING,
        "FILE",
        "thresholds of the hang detection (default: built-in)",
    ),
    Option(
        "dpu-config",
        "dpu_config",
        _RUN,
        "FILE",
        "names the DPU NICs of an A5 node; without it none is looked at",
    ),
    Option(
        "hccn-tool",
        "hccn_tool",
        _RUN,
        "PATH",
        "tells of network ports (default /usr/local/Ascend/driver/tools/hccn_tool)",
    ),
    Option(
        "switch-library",
        "switch_library",
        _RUN,
        "PATH",
        "liblingqu-dcmi.so to load; searched for by default",
    ),
    Option("shares", "shares", _SERVING, "1..100", "kubelet devices an NPU (default 1)"),
    Option(
        "share-policy",
        "share_policy",
        _SERVING,
        "spread|pack",
        "how shares are handed out (default spread)",
    ),
    Option(
        "inject",
        "inject",
        _SERVING,
        "runtime|devices|cdi|auto",
        "how NPUs get into a container (default auto)",
    ),
    Option(
        "logical-ids",
        "logical_ids",
        _SERVING,
        None,
        "also set ASCEND_RT_VISIBLE_DEVICES to 0..n-1",
    ),
    Option(
        "cdi-dir",
        "cdi_dir",
        _RUN,
        "DIR",
        "directory of the CDI specification (default /var/run/cdi)",
    ),
    Option(
        "http",
        "http",
        _SERVING,
        "ADDR:PORT",
        "serve /metrics, /healthz, /readyz, /status (off by default)",
    ),
    Option(
        "health-interval",
        "health_interval_s",
        _RUN,
        "S",
        "seconds between health readings (default 5)",
    ),
    Option(
        "poll-interval",
        "poll_interval_s",
        _RUN,
        "S",
        "the same without fault callbacks (default 2)",
    ),
    Option(
        "failed-rounds",
        "failed_rounds",
        _RUN,
        "N",
        "failed readings that take an NPU out (default 3)",
    ),
    Option(
        "rescan-interval",
        "rescan_interval_s",
        _RUN,
        "S",
        "seconds between looks for cards (default 300)",
    ),
    Option(
        "device-reset-timeout",
        "device_reset_timeout_s",
        _RUN,
        "S",
        "seconds to wait for missing cards at start (default 600)",
    ),
    Option(
        "driver-grace",
        "driver_grace_s",
        _RUN,
        "S",
        "seconds devices outlive the driver (default 30)",
    ),
    Option(
        "query-deadline",
        "query_deadline_s",
        _READING,
        "S",
        "deadline of a driver query (default 3)",
    ),
    Option(
        "allocate-timeout", "allocate_timeout_s", _RUN, "S", "deadline of one Allocate (default 10)"
    ),
    Option(
        "refuse-held",
        "refuse_held",
        _SERVING,
        None,
        "refuse an NPU that another pod's process holds (default true)",
    ),
    Option(
        "log-level",
        "log_level",
        _LOGGING,
        "LEVEL",
        "debug, info, warning, error or critical (default info; critical for all but run)",
    ),
    Option(
        "log-style",
        "log_style",
        _LOGGING,
        "json|console",
        "form of the log lines (default json; console for all but run)",
    ),
    Option(
        "device-config",
        "device_config",
        _SERVING | {Command.DEREGISTER},
        "FILE",
        "HAMi's device-config.yaml (default /device-config.yaml, else built in)",
    ),
    Option(
        "node-config",
        "node_config",
        _RUN,
        "FILE",
        "HAMi's node-config.yaml (default /node-config.yaml, if there is one)",
    ),
    Option(
        "hami-root",
        "hami_root",
        _RUN,
        "DIR",
        "limiting library and containers' directories (default /usr/local/hami-vnpu-core)",
    ),
    Option(
        "hami-shared-region",
        "hami_shared_region",
        _RUN,
        "DIR",
        "where containers of one NPU take turns (default /usr/local/hami-shared-region)",
    ),
    Option(
        "hami-assets",
        "hami_assets",
        _RUN,
        "DIR",
        "libvnpu.so, ld.so.preload (default /usr/local/hami-vnpu-core-assets)",
    ),
    Option(
        "hami-hook-mount",
        "hami_hook_mount",
        _SERVING,
        "dir|file",
        "mount the library's directory or the library alone (default dir)",
    ),
    Option(
        "hami-node-mode",
        "hami_node_mode",
        _SERVING,
        "auto|always|never",
        "which pods without vnpu-mode get soft slices (default auto)",
    ),
    Option(
        "hami-strict-lock",
        "hami_strict_lock",
        _SERVING,
        None,
        "serve no pod but the owner of the node lock",
    ),
    Option(
        "hami-fence",
        "hami_fence",
        _SERVING,
        None,
        "publish sick NPUs with no devices (default true)",
    ),
    Option(
        "hami-refuse-unhealthy",
        "hami_refuse_unhealthy",
        _SERVING,
        None,
        "refuse a pod whose NPU is sick by now (default true)",
    ),
    Option(
        "hami-check-quotas",
        "hami_check_quotas",
        _SERVING,
        None,
        "refuse memory and cores beyond the card (default true)",
    ),
    Option(
        "hami-network-group",
        "hami_network_group",
        _SERVING,
        "N",
        "NPUs of network group 0 (default 4)",
    ),
    Option(
        "hami-handshake",
        "hami_handshake_s",
        _SERVING,
        "S",
        "seconds from the scheduler's question to the answer (default 30)",
    ),
    Option(
        "hami-report-offset",
        "hami_report_offset_s",
        _SERVING,
        "S",
        "seconds added to the time in an answer (default 1)",
    ),
    Option(
        "hami-host-sum",
        "hami_host_sum",
        _SERVING,
        None,
        "host memory metric: the containers' sum where they report (default true)",
    ),
    Option(
        "vnpu-sweep",
        "vnpu_sweep",
        _SERVING,
        "off|report|remove",
        "what becomes of vNPUs nobody owns (default remove)",
    ),
    Option(
        "vnpu-sweep-interval",
        "vnpu_sweep_interval_s",
        _SERVING,
        "S",
        "seconds between two sweeps (default 60)",
    ),
    Option(
        "vnpu-sweep-grace",
        "vnpu_sweep_grace_s",
        _SERVING,
        "S",
        "seconds a vNPU must be idle and unowned (default 120)",
    ),
    Option(
        "word",
        "device_words",
        frozenset({Command.DEREGISTER}),
        "WORD[,WORD]",
        "device words to take back (default: all that are configured or built in)",
    ),
    Option("for", "for_s", _SIM, "SECONDS", "end by itself after this time"),
    Option("check", "check", _SIM, None, "exit 1 unless the scenario comes to what it expects"),
    Option(
        "check-deadline",
        "check_deadline_s",
        _DOCTOR,
        "S",
        "seconds that one check may take (default 15)",
    ),
    Option(
        "json",
        "as_json",
        _SHOWING,
        None,
        "print JSON instead of text; sim prints one object a line",
    ),
)
