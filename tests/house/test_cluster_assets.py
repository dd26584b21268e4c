"""The tool that builds the real programs finds, builds, caches and names them."""

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from tools import cluster_assets
from tools.cluster_assets import MODULES, Module, build, cache_folder, find, module_of, provide

# Stands for Go's own command: writes its arguments as the program, or refuses helm.
_GO = """\
#!/bin/sh
case "$*" in *helm*) echo "no helm today" >&2; exit 1;; esac
for word; do [ "$before" = -o ] && out=$word; before=$word; done
echo "$CGO_ENABLED $GOGC $*" > "$out"
chmod +x "$out"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment with an empty cache and a command ``go`` that builds in no time."""
    (tmp_path / "bin").mkdir()
    executable(tmp_path / "bin" / "go", text=_GO)
    return {
        "PATH": f"{tmp_path / 'bin'}:{os.defpath}",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


def executable(path: Path, *, text: str = "#!/bin/sh\n") -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def copied(modules: Iterable[Module], root: Path) -> dict[str, Module]:
    """Return *modules* with their pins copied below *root*."""
    moved = {}
    for module in modules:
        (root / module.name).mkdir()
        for name in ("go.mod", "go.sum"):
            (root / module.name / name).write_bytes((module.folder / name).read_bytes())
        moved[module.name] = dataclasses.replace(module, root=root)
    return moved


def test_what_the_environment_names_comes_before_the_cache(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    built = build("etcd", environment)
    assert find("etcd", environment) == built
    (tmp_path / "given").mkdir()
    given = executable(tmp_path / "given" / "etcd")

    assert find("etcd", {**environment, "KUBEBUILDER_ASSETS": str(given.parent)}) == given
    assert find("etcd", {**environment, "ASCEND_CLUSTER_ASSETS": str(given.parent)}) == given


def test_a_file_that_is_no_program_is_not_found(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "etcd").write_text("a page that says 404")

    assert find("etcd", {**environment, "KUBEBUILDER_ASSETS": str(tmp_path)}) is None


def test_a_changed_pin_builds_that_module_alone(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    moved = copied(MODULES, tmp_path)
    before = {name: cache_folder(module, environment) for name, module in moved.items()}
    with (tmp_path / "etcd" / "go.sum").open("a") as sums:
        sums.write("example.org/new v1.0.0 h1:x=\n")

    changed = {
        name for name, module in moved.items() if cache_folder(module, environment) != before[name]
    }

    assert changed == {"etcd"}


def test_a_changed_recipe_builds_anew(environment: dict[str, str]) -> None:
    module = module_of("containerd")

    plain = dataclasses.replace(module, tags=())

    assert cache_folder(plain, environment) != cache_folder(module, environment)


def test_the_cache_is_outside_the_checkout_and_a_module_has_a_folder_of_its_own() -> None:
    environment = {"XDG_CACHE_HOME": "relative/is/ignored"}
    folders = {cache_folder(module, environment) for module in MODULES}

    assert len(folders) == len(MODULES)
    assert {folder.parent for folder in folders} == {
        Path.home() / ".cache/ascend-agent/cluster-assets"
    }


def test_the_version_of_kubernetes_is_told_as_it_is_pinned(tmp_path: Path) -> None:
    """Without the linker's word the server says v0.0.0, and with a copied one it would lie."""
    module = copied([module_of("kubelet")], tmp_path)["kubernetes"]
    pins = module.folder / "go.mod"
    version = cluster_assets.pinned(pins, "k8s.io/kubernetes")
    pins.write_text(pins.read_text().replace(f"kubernetes {version}", "kubernetes v1.99.7"))

    flags = " ".join(module.flags())

    for told in ("gitVersion=v1.99.7", "gitMajor=1", "gitMinor=99"):
        assert f"-X k8s.io/component-base/version.{told}" in flags


def test_a_program_is_built_without_c_and_left_whole(environment: dict[str, str]) -> None:
    built = build("containerd", environment)

    words = built.read_text().split()
    assert words[0] == "0"
    assert "-tags=no_btrfs,no_zfs,no_devmapper" in words
    assert words[-1] == "github.com/containerd/containerd/v2/cmd/containerd"
    assert [path.name for path in built.parent.iterdir()] == ["containerd"]


def test_the_compiler_collects_less_often_unless_the_environment_says_otherwise(
    environment: dict[str, str],
) -> None:
    """Two compilers at once must fit into a small machine's memory, which only its user knows."""
    assert build("etcd", environment).read_text().split()[1] == "400"
    assert build("etcd", {**environment, "GOGC": "50"}).read_text().split()[1] == "50"


def test_one_that_can_not_be_built_is_named_and_the_others_are_built(
    environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = provide(["helm", "etcd"], environment, building=True)

    printed = capsys.readouterr().out
    assert code == 1
    assert "helm: can't be built: go build ended with code 1" in printed
    assert f"etcd: built in 0 s: {find('etcd', environment)}" in printed
    assert not list(cache_folder(module_of("helm"), environment).iterdir())


def test_a_missing_go_is_named(
    tmp_path: Path, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin" / "go").unlink()
    code = provide(["etcd"], {**environment, "PATH": str(tmp_path / "bin")}, building=True)

    assert code == 1
    assert "etcd: can't be built: Go is not installed" in capsys.readouterr().out


def test_what_is_there_is_not_built_again(
    tmp_path: Path, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    build("etcd", environment)
    (tmp_path / "bin" / "go").unlink()

    assert provide(["etcd"], environment, building=True) == 0
    assert "etcd: there: " in capsys.readouterr().out


def test_asking_where_builds_nothing(
    environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert provide(["etcd"], environment, building=False) == 1
    assert "missing: `python -m tools.cluster_assets`" in capsys.readouterr().out
    assert find("etcd", environment) is None
