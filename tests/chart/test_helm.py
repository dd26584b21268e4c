"""Real Helm renders what the golden files hold, and refuses what the agent would."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.objects import SETS, golden, parsed
from tools.chart.places import CHART
from tools.chart.render import GOLDEN, NAMESPACE, RELEASE, HelmError, render, run_helm
from tools.chart.values import values
from tools.docs.pages import ROOT

SCENARIOS = sorted((ROOT / "examples/scenarios").glob("*.yaml"))

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("name", sorted(SETS))
def test_helm_renders_what_is_written_down(name: str, helm: Path) -> None:
    """A change of the objects is seen in review; `python -m tools.chart` writes them anew."""
    assert SETS[name].golden.read_text() == render(helm, SETS[name]), "run `python -m tools.chart`"


def test_no_golden_file_is_left_of_a_set_that_is_gone() -> None:
    assert set(GOLDEN.glob("*.yaml")) == {chosen.golden for chosen in SETS.values()}


def test_helm_has_no_complaint(helm: Path) -> None:
    run_helm(helm, "lint", "--strict", CHART)


@pytest.mark.parametrize("name", sorted(SETS))
def test_helm_has_no_complaint_about_any_set(name: str, helm: Path) -> None:
    chosen = SETS[name]
    how = ("--values", chosen.file, "--kube-version", chosen.kubernetes)

    run_helm(helm, "lint", "--strict", CHART, *how)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"setings": {}}, "'setings' not allowed"),
        ({"settings": {"share": 2}}, "'share' not allowed"),
        ({"settings": {"shares": 0}}, "/settings/shares"),
        ({"settings": {"shares": 101}}, "/settings/shares"),
        ({"settings": {"shares": "many"}}, "/settings/shares"),
        ({"settings": {"shares": 1.5}}, "/settings/shares"),
        ({"settings": {"sharePolicy": "random"}}, "/settings/sharePolicy"),
        ({"settings": {"inject": "magic"}}, "/settings/inject"),
        ({"settings": {"driver": "fake"}}, "/settings/driver"),
        ({"settings": {"chip": "910Z"}}, "/settings/chip"),
        ({"settings": {"healthInterval": 0.5}}, "/settings/healthInterval"),
        ({"settings": {"pollInterval": 0.4}}, "/settings/pollInterval"),
        ({"settings": {"rescanInterval": 86401}}, "/settings/rescanInterval"),
        ({"settings": {"deviceResetTimeout": 601}}, "/settings/deviceResetTimeout"),
        ({"settings": {"queryDeadline": 0}}, "/settings/queryDeadline"),
        ({"settings": {"allocateTimeout": 61}}, "/settings/allocateTimeout"),
        ({"settings": {"logLevel": "verbose"}}, "/settings/logLevel"),
        ({"settings": {"logStyle": "klog"}}, "/settings/logStyle"),
        ({"settings": {"logicalIds": "yes"}}, "/settings/logicalIds"),
        ({"settings": {"http": None}}, "missing property 'http'"),
        ({"settings": {"http": "127.0.0.1:9395"}}, "/settings/http"),
        ({"settings": {"http": ":0"}}, "/settings/http"),
        ({"settings": {"http": ":65536"}}, "/settings/http"),
        ({"settings": {"runDir": "run"}}, "/settings/runDir"),
        ({"settings": {"runDir": None}}, "missing property 'runDir'"),
        ({"settings": {"cdiDir": "/var/run/my cdi"}}, "/settings/cdiDir"),
        ({"settings": {"kubeletDir": "data"}}, "/settings/kubeletDir"),
        ({"settings": {"devicePluginDir": "/" + 75 * "d"}}, "/settings/devicePluginDir"),
        ({"settings": {"scenario": {"step": []}}}, "'step' not allowed"),
        ({"settings": {"hangConfig": "/hang.json"}}, "/settings/hangConfig"),
        ({"settings": {"dpuConfig": "/etc/dpu.json"}}, "/settings/dpuConfig"),
        ({"settings": {"faultConfigMap": "rules"}}, "/settings/faultConfigMap"),
        ({"settings": {"faultConfigMap": "kube-system/Rules"}}, "/settings/faultConfigMap"),
        ({"settings": None}, "missing property 'settings'"),
        ({"kubeletLayout": "minikube"}, "/kubeletLayout"),
        ({"replaces": "nvidia"}, "/replaces"),
        ({"driverDir": "usr/local"}, "/driverDir"),
        ({"driverExtraDirs": ["/a", "/a"]}, "/driverExtraDirs"),
        ({"privileged": "maybe"}, "/privileged"),
        ({"appArmorProfile": "Localhost"}, "/appArmorProfile"),
        ({"seLinuxOptions": {"kind": "spc_t"}}, "'kind' not allowed"),
        ({"image": {"digest": "sha256:0"}}, "/image/digest"),
        ({"image": {"repository": ""}}, "/image/repository"),
        ({"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy"),
        ({"maxUnavailable": 0}, "/maxUnavailable"),
        ({"maxUnavailable": "0%"}, "/maxUnavailable"),
        ({"terminationGracePeriodSeconds": 1}, "/terminationGracePeriodSeconds"),
        ({"tolerations": [{"operator": "Has"}]}, "/tolerations/0/operator"),
        ({"affinity": {"nodes": {}}}, "'nodes' not allowed"),
        ({"nodesWithAnyLabel": [{"key": "ascend"}]}, "/nodesWithAnyLabel/0"),
        ({"podMonitor": {"interval": "often"}}, "/podMonitor/interval"),
        ({"extraArgs": "-x"}, "/extraArgs"),
        ({"extraEnv": [{"value": "1"}]}, "/extraEnv/0"),
    ],
    ids=lambda each: json.dumps(each)[:60] if isinstance(each, dict) else "",
)
def test_a_bad_value_is_refused_by_its_name(
    values: dict[str, Any], names: str, helm: Path, tmp_path: Path
) -> None:
    """Better before anything reaches the cluster than as a pod that ends with exit code 2."""
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))

    with pytest.raises(HelmError) as refused:
        run_helm(helm, "template", RELEASE, CHART, "--values", file)

    assert names in str(refused.value)


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_scenario_that_we_ship_may_be_given(file: Path, helm: Path, tmp_path: Path) -> None:
    """What it expects of ``sim`` included; no directory lies beside the file in a pod."""
    scenario = yaml.safe_load(file.read_text())
    scenario.pop("fault_config_dir", None)
    given = tmp_path / "values.yaml"
    given.write_text(json.dumps({"settings": {"driver": "simulated", "scenario": scenario}}))

    assert "expect:" in run_helm(helm, "template", RELEASE, CHART, "--values", given)


@pytest.mark.parametrize(
    "places",
    [
        {"hangConfig": "/etc/ascend/hang.json", "dpuConfig": "/etc/ascend/dpu.json"},
        {"faultConfigDir": "/etc/ascend", "hangConfig": "/etc/ascend/hang.json"},
        {"faultConfigDir": "/etc/ascend", "dpuConfig": "/etc/ascend/dpu.json"},
        {"faultConfigDir": "/a/b", "hangConfig": "/a/c/hang.json", "dpuConfig": "/a/d/dpu.json"},
    ],
    ids=" ".join,
)
def test_files_may_share_a_folder(places: dict[str, str], helm: Path, tmp_path: Path) -> None:
    """Kubernetes refuses two mounts at one place."""
    given = tmp_path / "values.yaml"
    given.write_text(json.dumps({"settings": places}))

    rendered = parsed(run_helm(helm, "template", RELEASE, CHART, "--values", given))

    mounted = [mount["mountPath"] for mount in rendered.container["volumeMounts"]]
    named = {path if "." not in path else str(Path(path).parent) for path in places.values()}
    assert sorted(mounted) == sorted(set(mounted))
    assert named <= set(mounted)


def test_what_may_be_empty_may_be_null(helm: Path, tmp_path: Path) -> None:
    """Helm's way to take a default list or mapping away."""
    empty = [value.path for value in values() if isinstance(value.default, dict | list | None)]
    nothing: dict[str, Any] = {path: None for path in empty if "." not in path}
    for path in (path for path in empty if "." in path):
        section, _, name = path.partition(".")
        nothing.setdefault(section, {})[name] = None
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(nothing))

    rendered = parsed(run_helm(helm, "template", RELEASE, CHART, "--values", file))

    assert "tolerations" not in rendered.pod
    assert rendered.container["env"] == golden("default").container["env"]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("--device-plugin-dir=/elsewhere", "settings.devicePluginDir"),
        ("--inject=cdi", "settings.inject"),
        ("-shares", "settings.shares"),
        ("--npus=4", "settings.npus"),
        ("--http=:1", "settings.http"),
        ("-enable-healthz", "settings.http"),
        ("--healthz-address=11251", "settings.http"),
    ],
)
def test_an_argument_that_the_pod_must_follow_is_a_value(
    argument: str, value: str, helm: Path
) -> None:
    """Mounts and probes are made from the values; an argument would leave them behind."""
    with pytest.raises(HelmError, match=value):
        run_helm(helm, "template", RELEASE, CHART, "--set", f"extraArgs={{{argument}}}")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("--config_file=/device-config.yaml", r"hami\.deviceConfigMap"),
        ("-node_config_file=/node-config.yaml", r"hami\.nodeConfigMap"),
        ("--device-config=/x", r"hami\.deviceConfigMap"),
        ("--node-config=/x", r"hami\.nodeConfigMap"),
        ("--hami-assets=/x", r"hami\.assetsDir"),
        ("--dialect=hami", r"settings\.dialect"),
    ],
)
def test_an_argument_of_hamis_that_is_mounted_is_a_value(
    argument: str, value: str, helm: Path, tmp_path: Path
) -> None:
    how = ("--set", f"extraArgs={{{argument}}}")
    with pytest.raises(HelmError, match=value):
        run_helm(helm, "template", RELEASE, CHART, *how, home=tmp_path)


def test_hami_is_refused_without_an_api_server(helm: Path, tmp_path: Path) -> None:
    how = ("--set", "settings.dialect=hami,useApiServer=false")
    with pytest.raises(HelmError, match="needs the API server"):
        run_helm(helm, "template", RELEASE, CHART, *how, home=tmp_path)


def test_in_hamis_place_another_dialect_may_be_chosen(helm: Path, tmp_path: Path) -> None:
    """Where HAMi is given up, and its DaemonSet's place is taken all the same."""
    how = ("--set", "replaces=hami,settings.dialect=plain")
    rendered = parsed(run_helm(helm, "template", RELEASE, CHART, *how, home=tmp_path))

    assert rendered.environment["ASCEND_AGENT_DIALECT"] == "plain"
    assert rendered.daemonset["metadata"]["name"] == "hami-ascend-device-plugin"


def test_an_older_kubernetes_is_refused(helm: Path) -> None:
    with pytest.raises(HelmError, match=r"kubeVersion: >=1\.28\.0-0.*incompatible.*v1\.27\.9"):
        run_helm(helm, "template", RELEASE, CHART, "--kube-version", "1.27.9")


def test_a_vendors_build_of_kubernetes_is_accepted(helm: Path) -> None:
    run_helm(helm, "template", RELEASE, CHART, "--kube-version", "1.28.15-eks-1234567")


def test_an_own_node_policy_is_refused_where_tokens_name_no_node(helm: Path) -> None:
    options = ("--set", "admissionPolicy.create=true", "--kube-version", "1.31.4")

    with pytest.raises(HelmError, match=r"needs Kubernetes 1\.32"):
        run_helm(helm, "template", RELEASE, CHART, *options)


@pytest.mark.parametrize(
    ("values", "privileged"),
    [
        ({"privileged": False}, False),
        ({"privileged": True, "settings": {"driver": "simulated"}}, True),
    ],
    ids=["the vendor's driver in a plain container", "a simulated node in a privileged one"],
)
def test_privileges_follow_who_says_so(
    values: dict[str, Any], *, privileged: bool, helm: Path, tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))

    rendered = parsed(run_helm(helm, "template", RELEASE, CHART, "--values", file))

    assert rendered.container["securityContext"]["privileged"] is privileged


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("ascend-agent", "ascend-agent"),
        ("npu", "npu-ascend-agent"),
        ("my-ascend-agent", "my-ascend-agent"),
    ],
)
def test_an_objects_name_holds_release_and_chart_once(release: str, name: str, helm: Path) -> None:
    rendered = parsed(run_helm(helm, "template", release, CHART))

    assert rendered.daemonset["metadata"]["name"] == name


@pytest.mark.parametrize(
    "long",
    [
        f"fullnameOverride={'a' * 80}",
        f"fullnameOverride={'a' * 62}.b",
        f"fullnameOverride={'a' * 61}.-b",
        f"nameOverride={'a' * 62}.b",
        f"nameOverride={'a' * 44}.-.b{'c' * 20}",
    ],
)
def test_a_long_name_is_cut_to_one_that_kubernetes_takes(long: str, helm: Path) -> None:
    """A label may be 63 characters long, and a DaemonSet's name is one; others are 253."""
    rendered = parsed(run_helm(helm, "template", "npu", CHART, "--set", long))
    metadata = [each["metadata"] for each in rendered.objects]

    words = [rendered.daemonset["metadata"]["name"]]
    words += [text for one in metadata for text in one["labels"].values()]
    assert all(re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", one) for one in words)
    name = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
    assert all(re.fullmatch(name, one["name"]) for one in metadata)


def test_a_services_name_has_no_dots(helm: Path) -> None:
    """Those of all other objects may have them."""
    named = ("--set", "fullnameOverride=a.b", "--set", "service.create=true")

    (service,) = parsed(run_helm(helm, "template", "npu", CHART, *named)).of("Service")

    assert service["metadata"]["name"] == "a-b"


def test_another_scenario_is_another_pod(helm: Path) -> None:
    """The agent reads the file once, so the ConfigMap alone would change nothing."""
    (key,) = [k for k in golden("simulated").template["metadata"]["annotations"] if "scenario" in k]
    other = parsed(render(helm, SETS["simulated"], options=("--set", "settings.scenario.seed=7")))

    before = golden("simulated").template["metadata"]["annotations"][key]
    assert other.template["metadata"]["annotations"][key] != before


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("default", "feature.node.kubernetes.io/pci-1200_19e5.present=true"),
        ("default", "ascend-agent doctor"),
        ("default", "/api/v1/namespaces/kube-system/pods/POD:9395/proxy/readyz"),
        ("replaces-hami", "Nodes are chosen by ascend=on"),
        ("simulated", "The NPUs are simulated"),
        ("tuned", "your affinity"),
    ],
)
def test_the_notes_tell_where_to_look(name: str, says: str, helm: Path, tmp_path: Path) -> None:
    how = ("--values", SETS[name].file, "--namespace", NAMESPACE, "--dry-run=client")

    notes = run_helm(helm, "install", RELEASE, CHART, *how, home=tmp_path)

    assert says in notes.partition("NOTES:")[2]
