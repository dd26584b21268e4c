"""What the rendered objects must have, whatever the values; read from the golden files.

``test_helm.py`` proves that Helm renders just these.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_agent.cli.options import OPTIONS, Command
from ascend_agent.doctor.rules import required
from ascend_agent.settings import DialectName, InjectionWay, Settings
from tests.chart.objects import SETS, Json, golden, understood, values_of
from tools.chart.places import value_name
from tools.chart.schema import NO_VALUES

EVERY = sorted(SETS)
LAYOUTS = {
    "default": ("/var/lib/kubelet", "/var/lib/kubelet/device-plugins"),
    "k3s": ("/var/lib/kubelet", "/var/lib/kubelet/device-plugins"),
    "rke": ("/var/lib/kubelet", "/var/lib/kubelet/device-plugins"),
    "rke2": ("/var/lib/kubelet", "/var/lib/kubelet/device-plugins"),
    "openshift": ("/var/lib/kubelet", "/var/lib/kubelet/device-plugins"),
    "rke-opt": ("/opt/rke/var/lib/kubelet", "/opt/rke/var/lib/kubelet/device-plugins"),
    "k0s": ("/var/lib/k0s/kubelet", "/var/lib/kubelet/device-plugins"),
    "microk8s": ("/var/snap/microk8s/common/var/lib/kubelet", "/var/lib/kubelet/device-plugins"),
    "tuned": ("/data/kubelet", "/data/device-plugins"),
}
PEERS = {
    "replaces-mindcluster": (
        "ascend-device-plugin-daemonset",
        {"name": "ascend-device-plugin-ds"},
        {"workerselector": "dls-worker-node"},
    ),
    "replaces-hami": (
        "hami-ascend-device-plugin",
        {
            "app.kubernetes.io/component": "hami-ascend-device-plugin",
            "hami.io/webhook": "ignore",
        },
        {"ascend": "on"},
    ),
}
RETIRED = {
    "-useAscendDocker",
    "-logFile",
}


@pytest.mark.parametrize("name", EVERY)
def test_the_agent_accepts_its_arguments(name: str, tmp_path: Path) -> None:
    """A DaemonSet whose pods end with exit code 2 would be found out by its users."""
    arguments, _ = understood(golden(name), tmp_path)

    retired = RETIRED if name == "replaces-mindcluster" else set()
    assert {typed for typed, _ in arguments.warnings} == retired


@pytest.mark.parametrize("command", [Command.DEVICES, Command.DOCTOR, Command.RUN])
def test_a_command_in_the_pod_has_the_settings_of_its_agent(
    command: Command, tmp_path: Path
) -> None:
    """`kubectl exec` gives it the container's environment, and no argument of the agent's."""
    rendered = golden("tuned")
    _, agent = understood(rendered, tmp_path)
    arguments, settings = understood(rendered, tmp_path, command=command)

    assert not arguments.warnings
    assert (settings.library, settings.query_deadline_s) == (agent.library, agent.query_deadline_s)
    assert settings.log_level == agent.log_level


def test_an_older_plugins_option_wins_over_the_value_of_the_same_setting(tmp_path: Path) -> None:
    """Or a manifest's arguments would contradict the chart's defaults and end the start."""
    rendered = golden("replaces-mindcluster")
    _, settings = understood(rendered, tmp_path)

    assert "-deviceResetTimeout=120" in rendered.container["args"]
    assert settings.device_reset_timeout_s == 120


@pytest.mark.parametrize("name", EVERY)
def test_what_a_value_says_is_what_the_agent_gets(name: str, tmp_path: Path) -> None:
    _, settings = understood(golden(name), tmp_path)
    given, told = values_of(name)["settings"], settings.model_dump(mode="json")
    fields = {
        value_name(option.name): option.sets
        for option in OPTIONS
        if Command.RUN in option.commands and option.sets in told and option.name not in NO_VALUES
    }

    wanted = {field: given[value] for value, field in fields.items() if given[value] is not None}
    wanted |= {"http": told["http"], "docker_runtime": given["dockerRuntime"]}
    if name == "replaces-hami":
        wanted["dialect"] = "hami"
    if name == "replaces-mindcluster":
        wanted["device_reset_timeout_s"] = 120  # by the older plugin's option
    if given["driver"] == "simulated":
        wanted |= {"library": None, "allow_unsafe_library": False}
        node = {"chip": given["chip"], "npus": given["npus"], "seed": given["seed"]}
        assert told["simulated"].items() >= node.items()
        assert len(told["simulated"]["steps"]) == len(given["scenario"].get("steps", []))
    assert {field: told[field] for field in wanted} == wanted


@pytest.mark.parametrize("name", EVERY)
def test_the_probes_ask_where_the_agent_listens(name: str, tmp_path: Path) -> None:
    rendered = golden(name)
    _, settings = understood(rendered, tmp_path)
    (port,) = rendered.container["ports"]

    assert settings.http is not None
    assert settings.http.port == port["containerPort"]
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert rendered.container[probe]["httpGet"] == {"path": path, "port": port["name"]}


@pytest.mark.parametrize("name", EVERY)
def test_every_directory_the_agent_writes_is_the_hosts_and_can_be_written(
    name: str, tmp_path: Path
) -> None:
    """The lock must be one both instances reach (KL-4), the socket where the kubelet looks."""
    rendered = golden(name)
    _, settings = understood(rendered, tmp_path)
    written = [settings.device_plugin_dir, settings.run_dir]
    if settings.way is InjectionWay.CDI:
        written.append(settings.cdi_dir)
    if settings.dialect is DialectName.HAMI:
        written += [settings.hami_root, settings.hami_shared_region]

    for directory in map(str, written):
        mount = rendered.host_mounts[directory]
        assert (mount.host, mount.read_only) == (directory, False)
    assert settings.kubelet_socket.parent == settings.device_plugin_dir
    told = rendered.host_mounts[str(settings.pod_resources_socket.parent)]
    assert (told.host, told.read_only) == (str(settings.pod_resources_socket.parent), True)


@pytest.mark.parametrize("name", EVERY)
def test_only_what_is_used_of_the_host_is_seen(name: str, tmp_path: Path) -> None:
    """Beyond the kubelet's, the lock's and the driver's, each directory has its reason."""
    rendered = golden(name)
    _, settings = understood(rendered, tmp_path)
    values = values_of(name)
    wanted = {
        str(settings.device_plugin_dir): False,
        str(settings.pod_resources_socket.parent): True,
        str(settings.run_dir): False,
        str(settings.state_dir): False,
    }
    if settings.fault_config_dir is not None:
        wanted[str(settings.fault_config_dir)] = True
    if settings.hang_config is not None:
        wanted[str(settings.hang_config.parent)] = True
    if settings.dpu_config is not None:
        wanted[str(settings.dpu_config.parent)] = True
    if settings.driver == "dcmi":
        wanted |= {"/dev": False, values["driverDir"]: True}
        wanted |= dict.fromkeys(values["driverExtraDirs"], True)
        wanted |= {values["logDir"]: False} if values["logDir"] else {}
    hami = settings.dialect is DialectName.HAMI
    if hami:
        wanted |= {str(settings.hami_root): False}
        wanted |= {str(settings.hami_shared_region): False}
        if not values["hami"]["assetsImage"]:
            wanted[str(settings.hami_assets)] = True
    if settings.way is not InjectionWay.RUNTIME or settings.dpu_config is not None or hami:
        # The pod's own /sys shows no interface of the host, and mounts of a soft slice are its.
        assert settings.host_root == Path("/host")
        wanted["/host"] = True
    if settings.way is InjectionWay.CDI:
        wanted[str(settings.cdi_dir)] = False

    assert {path: mount.read_only for path, mount in rendered.host_mounts.items()} == wanted


@pytest.mark.parametrize("name", EVERY)
def test_a_directory_that_is_missing_on_the_host_is_made(name: str) -> None:
    """PM-6: pods hung in ContainerCreating for a missing log directory."""
    kinds = {mount.host: mount.kind for mount in golden(name).host_mounts.values()}

    always_there = {"/", "/dev"}
    assert {kinds[host] for host in kinds.keys() & always_there} <= {"Directory"}
    assert {kinds[host] for host in kinds.keys() - always_there} == {"DirectoryOrCreate"}


@pytest.mark.parametrize("name", ["default", "cdi", "tuned", "dpu-nics"])
def test_the_host_is_followed_where_it_is_seen_as_a_whole(name: str) -> None:
    """A private copy of its mounts would keep volumes busy that the kubelet unmounts."""
    (seen,) = [m for m in golden(name).container["volumeMounts"] if m["mountPath"] == "/host"]

    assert seen["mountPropagation"] == "HostToContainer"


@pytest.mark.parametrize("name", EVERY)
def test_every_volume_is_mounted_and_every_mount_has_its_volume(name: str) -> None:
    rendered = golden(name)
    volumes = [volume["name"] for volume in rendered.pod["volumes"]]
    mounts = [mount["name"] for mount in rendered.container["volumeMounts"]]

    assert volumes == mounts
    assert len(set(volumes)) == len(volumes)
    assert len({m["mountPath"] for m in rendered.container["volumeMounts"]}) == len(mounts)


@pytest.mark.parametrize("name", EVERY)
def test_no_file_is_mounted_in_a_way_that_never_reloads(name: str) -> None:
    """A subPath is a copy of the ConfigMap as it was when the container started."""
    assert "subPath" not in json.dumps(golden(name).objects)


@pytest.mark.parametrize("name", EVERY)
def test_two_agents_never_run_on_one_node(name: str) -> None:
    """KL-4: the kubelet resets the counts when a second instance registers."""
    strategy = golden(name).daemonset["spec"]["updateStrategy"]

    assert strategy["type"] == "RollingUpdate"
    assert strategy["rollingUpdate"]["maxSurge"] == 0
    assert strategy["rollingUpdate"]["maxUnavailable"] == values_of(name)["maxUnavailable"]


@pytest.mark.parametrize("name", EVERY)
def test_the_container_is_confined_as_far_as_its_driver_lets_it_be(name: str) -> None:
    """Opening /dev/davinci* takes a device cgroup that only a privileged container has."""
    rendered = golden(name)
    context = rendered.container["securityContext"]
    hardware = values_of(name)["settings"]["driver"] == "dcmi"

    assert context["readOnlyRootFilesystem"] is True
    assert context["privileged"] is hardware
    if not hardware:
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not rendered.pod.get("hostNetwork")
    assert not rendered.pod.get("hostIPC")


@pytest.mark.parametrize("name", EVERY)
def test_the_hosts_processes_are_seen_only_to_find_who_holds_an_npu(
    name: str, tmp_path: Path
) -> None:
    rendered = golden(name)
    _, settings = understood(rendered, tmp_path)

    needed = settings.refuse_held or settings.hang_detection
    assert rendered.pod["hostPID"] is (needed and settings.driver == "dcmi")


@pytest.mark.parametrize("name", EVERY)
def test_a_pod_is_one_that_its_daemonset_selects(name: str) -> None:
    rendered = golden(name)
    selected = rendered.daemonset["spec"]["selector"]["matchLabels"]
    labels = rendered.template["metadata"]["labels"]

    assert selected.items() <= labels.items()
    # HAMi's webhook leaves such pods alone, as it does its own plugin's.
    assert labels["hami.io/webhook"] == "ignore"


@pytest.mark.parametrize("name", EVERY)
def test_every_object_says_whose_it_is(name: str) -> None:
    clusterwide = {
        "ClusterRole",
        "ClusterRoleBinding",
        "RuntimeClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    for each in golden(name).objects:
        assert each["metadata"]["labels"]["app.kubernetes.io/instance"] == "ascend-agent"
        namespace = None if each["kind"] in clusterwide else "kube-system"
        if each["metadata"]["name"].endswith("-events"):
            namespace = "default"  # where the API server takes Events about nodes
        assert each["metadata"].get("namespace") == namespace


@pytest.mark.parametrize("name", sorted(set(SETS) - {"no-api"}))
def test_only_the_rules_that_the_agent_needs_are_granted(name: str, tmp_path: Path) -> None:
    """The doctor asks the API server for these very rules."""
    rendered = golden(name)
    _, settings = understood(rendered, tmp_path)
    roles = [*rendered.of("ClusterRole"), *rendered.of("Role")]
    bindings = [
        each
        for each in (*rendered.of("ClusterRoleBinding"), *rendered.of("RoleBinding"))
        if not each["metadata"]["name"].endswith("-scc")
    ]

    granted = [right for role in roles for right in _rights(role)]
    assert sorted(granted) == sorted(rule.text for rule in required(settings))
    assert all(rule["apiGroups"] == [""] for role in roles for rule in role["rules"])
    assert [_bound(each) for each in bindings] == [_own(each) for each in roles]
    for each in bindings:
        (subject,) = each["subjects"]
        assert subject["name"] == rendered.pod["serviceAccountName"]
        assert subject["namespace"] == "kube-system"


def _rights(role: Json) -> list[str]:
    """Return what a role grants, as ``kubectl auth can-i`` takes it."""
    namespace = role["metadata"].get("namespace")
    within = f" -n {namespace}" if namespace else ""
    return [
        f"{verb} {resource}{name}{within}"
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in [f"/{name}" for name in rule.get("resourceNames", [])] or [""]
    ]


def _own(role: Json) -> tuple[str, str, str | None]:
    return role["kind"], role["metadata"]["name"], role["metadata"].get("namespace")


def _bound(binding: Json) -> tuple[str, str, str | None]:
    """Return what a binding grants: a Role is one of the binding's own namespace."""
    named = binding["roleRef"]
    return named["kind"], named["name"], binding["metadata"].get("namespace")


def test_who_writes_nothing_may_write_nothing() -> None:
    rendered = golden("read-only-api")
    (role,) = rendered.of("ClusterRole")

    verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
    assert verbs == {"list", "watch"}
    assert rendered.of("Role") == []


def test_of_config_maps_only_the_one_that_is_named_may_be_read() -> None:
    """A cluster's ConfigMaps are nobody's business here."""
    assert [right for role in golden("fault-config").of("Role") for right in _rights(role)] == [
        "create events -n default",
        "patch events -n default",
        "list configmaps/mindx-dl-fault-config -n kube-system",
        "watch configmaps/mindx-dl-fault-config -n kube-system",
    ]
    assert "configmaps" not in str(golden("default").of("Role"))


def test_without_an_api_server_there_is_nothing_to_reach_it_with(tmp_path: Path) -> None:
    rendered = golden("no-api")
    _, settings = understood(rendered, tmp_path)

    assert not rendered.of("ClusterRole")
    assert not rendered.of("ClusterRoleBinding")
    assert rendered.pod["automountServiceAccountToken"] is False
    assert settings.node_name is None


def test_the_nodes_name_comes_from_the_node(tmp_path: Path) -> None:
    rendered = golden("default")
    (named,) = [each for each in rendered.container["env"] if each["name"] == "NODE_NAME"]

    assert named["valueFrom"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert understood(rendered, tmp_path)[1].node_name == "node-1"


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_has_its_directories(name: str, tmp_path: Path) -> None:
    """PM-2, PM-3: the two do not move together. k0s and MicroK8s keep the kubelet's constant."""
    rendered = golden(name)
    _, settings = understood(rendered, tmp_path)
    root, plugins = LAYOUTS[name]

    assert (str(settings.kubelet_dir), str(settings.device_plugin_dir)) == (root, plugins)
    assert f"{root}/pod-resources" in rendered.host_mounts


HAMI = ["hami", "hami-soft", "replaces-hami"]


@pytest.mark.parametrize("name", HAMI)
def test_hamis_files_are_followed_and_none_of_them_keeps_the_pod_from_starting(
    name: str, tmp_path: Path
) -> None:
    """Folders, where HAMi's plugin mounts single files, which stay as they were."""
    rendered = golden(name)
    _, settings = understood(rendered, tmp_path)
    values = values_of(name)["hami"]
    maps = {v["name"]: v["configMap"] for v in rendered.pod["volumes"] if "configMap" in v}
    places = {m["mountPath"]: m for m in rendered.container["volumeMounts"]}

    for file, value in (
        (settings.device_config, "deviceConfigMap"),
        (settings.node_config, "nodeConfigMap"),
    ):
        mount = places[str(file.parent)]
        assert mount["readOnly"] is True
        assert maps[mount["name"]] == {"name": values[value], "optional": True}
    assert (settings.device_config.name, settings.node_config.name) == (
        "device-config.yaml",
        "node-config.yaml",
    )


def test_the_limiting_library_is_copied_by_who_has_no_privilege(tmp_path: Path) -> None:
    """The agent's image has none: it is HAMi's."""
    rendered = golden("hami-soft")
    _, settings = understood(rendered, tmp_path)
    (copying,) = rendered.pod["initContainers"]
    (mount,) = copying["volumeMounts"]
    (seen,) = [m for m in rendered.container["volumeMounts"] if m["name"] == mount["name"]]
    (volume,) = [v for v in rendered.pod["volumes"] if v["name"] == mount["name"]]

    assert copying["image"] == "projecthami/ascend-device-plugin:v1.4.0"
    assert [Path(file).name for file in copying["command"][1:-1]] == ["libvnpu.so", "ld.so.preload"]
    assert Path(copying["command"][-1]) == Path(mount["mountPath"])
    assert seen == {**mount, "mountPath": str(settings.hami_assets), "readOnly": True}
    assert "emptyDir" in volume
    assert "privileged" not in copying["securityContext"]
    assert copying["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "initContainers" not in golden("hami").pod


@pytest.mark.parametrize("name", EVERY)
def test_the_port_has_the_name_that_monitors_ask_for(name: str) -> None:
    rendered = golden(name)
    (port,) = rendered.container["ports"]
    endpoints = [e for m in rendered.of("PodMonitor") for e in m["spec"]["podMetricsEndpoints"]]
    served = [each for service in rendered.of("Service") for each in service["spec"]["ports"]]

    assert port["name"] == ("monitorport" if name in HAMI else "http")
    assert {each["port"] for each in endpoints} <= {port["name"]}
    assert {each["targetPort"] for each in served} <= {port["name"]}


def test_without_the_dialect_nothing_of_it_is_there() -> None:
    text = json.dumps(golden("default").pod)

    assert "hami-" not in text.replace("hami-ascend-device-plugin", "")
    assert "ASCEND_AGENT_HAMI" not in text


def test_openshift_lets_the_account_use_its_constraints() -> None:
    bindings = golden("openshift").of("RoleBinding")
    (binding,) = [each for each in bindings if each["roleRef"]["kind"] == "ClusterRole"]

    assert binding["roleRef"]["name"] == "system:openshift:scc:privileged"
    assert binding["subjects"][0]["name"] == "ascend-agent"


@pytest.mark.parametrize("name", PEERS)
def test_it_can_stand_in_a_peers_place(name: str) -> None:
    """Pods that the peer's DaemonSet left behind are adopted by their labels, node by node."""
    rendered = golden(name)
    daemonset, selector, nodes = PEERS[name]

    assert rendered.daemonset["metadata"]["name"] == daemonset
    assert rendered.daemonset["spec"]["selector"]["matchLabels"] == selector
    assert rendered.pod["nodeSelector"].items() >= nodes.items()


@pytest.mark.parametrize(
    ("name", "avoided"),
    [
        ("default", {"ascend-device-plugin-ds", "hami-ascend-device-plugin"}),
        ("replaces-mindcluster", {"hami-ascend-device-plugin"}),
        ("replaces-hami", {"ascend-device-plugin-ds"}),
        ("tuned", set()),
    ],
)
def test_a_node_with_another_plugin_is_avoided(name: str, avoided: set[str]) -> None:
    """CF-4: two plugins offer the same NPUs twice. The one that is replaced is not in the way."""
    terms = (
        golden(name)
        .pod["affinity"]
        .get("podAntiAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution", [])
    )
    labels = [value for term in terms for value in term["labelSelector"]["matchLabels"].values()]

    assert set(labels) == avoided
    assert all(term["namespaceSelector"] == {} for term in terms)


def test_a_node_is_served_for_any_of_the_labels_that_npu_nodes_have() -> None:
    """CF-9: a DaemonSet for which no node has the label makes no pod and says nothing."""
    terms = golden("default").pod["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    found = [{each["key"]: each["values"] for each in term["matchExpressions"]} for term in terms]

    assert found == [
        {"feature.node.kubernetes.io/pci-1200_19e5.present": ["true"]},
        {"workerselector": ["dls-worker-node"]},
        {"ascend": ["on"]},
    ]


def test_the_taints_of_npu_nodes_are_tolerated() -> None:
    tolerated = {each["key"] for each in golden("default").pod["tolerations"]}

    assert tolerated == {
        "CriticalAddonsOnly",
        "device-plugin",
        *(f"huawei.com/{word}" for word in ("Ascend310", "Ascend310P", "Ascend910", "npu")),
    }


def test_memory_leaves_room_for_kernels_with_large_pages() -> None:
    """Agent and worker need up to 78 MiB where pages have 4 KiB."""
    resources = golden("default").container["resources"]

    assert resources["requests"]["memory"] == "64Mi"
    assert resources["limits"] == {"memory": "256Mi"}  # a CPU limit would delay faults


def test_apparmor_is_a_field_where_the_api_knows_one_and_an_annotation_before() -> None:
    new, old = golden("confined"), golden("old-kubernetes")
    key = "container.apparmor.security.beta.kubernetes.io/agent"

    assert new.container["securityContext"]["appArmorProfile"] == {"type": "Unconfined"}
    assert key not in new.template["metadata"]["annotations"]
    assert "appArmorProfile" not in old.container["securityContext"]
    assert old.template["metadata"]["annotations"][key] == "localhost/ascend-agent"


def test_selinux_options_reach_the_container() -> None:
    context = golden("confined").container["securityContext"]

    assert context["seLinuxOptions"] == {"type": "spc_t"}


def test_monitoring_finds_the_pods_and_keeps_our_labels() -> None:
    """OB-4: labels about the workload lose to the scraper's own without honorLabels."""
    rendered = golden("monitoring")
    labels = rendered.template["metadata"]["labels"]
    (monitor,), (service,) = rendered.of("PodMonitor"), rendered.of("Service")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]

    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert service["spec"]["selector"].items() <= labels.items()
    assert endpoint["honorLabels"] is True
    assert endpoint["port"] == service["spec"]["ports"][0]["targetPort"] == "http"
    assert monitor["metadata"]["labels"]["release"] == "prometheus"


def test_dashboard_and_alerts_are_the_files() -> None:
    rendered = golden("monitoring")
    (config,), (rule,) = rendered.of("ConfigMap"), rendered.of("PrometheusRule")

    assert json.loads(config["data"]["ascend-agent.json"])["uid"] == "ascend-agent"
    assert config["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert "{{ $labels.npu }}" in json.dumps(rule["spec"])


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("default", "ascend-agent:0.1.0"),
        (
            "private-registry",
            f"registry.example:5000/npu/ascend-agent@sha256:{'0123456789abcdef' * 4}",
        ),
    ],
)
def test_an_image_is_named_by_tag_or_by_digest(name: str, image: str) -> None:
    assert golden(name).container["image"] == image


def test_names_of_ones_own_are_used() -> None:
    rendered = golden("private-registry")

    assert rendered.daemonset["metadata"]["name"] == "npu-agent"
    assert rendered.pod["serviceAccountName"] == "npu"
    assert not rendered.of("ServiceAccount")
    assert rendered.pod["imagePullSecrets"] == [{"name": "registry-credentials"}]
    assert rendered.template["metadata"]["labels"]["team"] == "hardware"
    assert rendered.pod["nodeSelector"]["example.org/npu"] == "yes"


@pytest.mark.parametrize("name", EVERY)
def test_the_vendors_library_is_found_in_the_drivers_folders(name: str) -> None:
    rendered, values = golden(name), values_of(name)
    if values["settings"]["driver"] != "dcmi":
        assert "ASCEND_AGENT_LIBRARY_PATH" not in rendered.environment
        return
    folders = rendered.environment["ASCEND_AGENT_LIBRARY_PATH"].split(":")

    assert f"{values['driverDir']}/lib64/driver" in folders
    assert set(values["driverExtraDirs"]) <= set(folders)
    mounted = [path for path, mount in rendered.host_mounts.items() if mount.read_only]
    assert all(any(folder.startswith(path) for path in mounted) for folder in folders)


def test_every_layout_and_way_has_a_set() -> None:
    """PM-3: rendered in CI for each."""
    used: dict[str, set[Any]] = {"kubeletLayout": set(), "replaces": set(), "way": set()}
    for name in EVERY:
        values = values_of(name)
        used["kubeletLayout"].add(values["kubeletLayout"])
        used["replaces"].add(values["replaces"])
        given = values["settings"]
        used["way"].add(Settings(inject=given["inject"], docker_runtime=given["dockerRuntime"]).way)

    assert used["kubeletLayout"] == set(LAYOUTS) - {"default", "tuned"} | {"kubeadm"}
    assert used["replaces"] == {"none", "mindcluster", "hami"}
    assert used["way"] == set(InjectionWay) - {InjectionWay.AUTO}
