"""Build the programs of a real control plane and node that the tests start.

``python -m tools.cluster_assets`` builds what is missing with Go, from the modules pinned in
``tests/cluster/assets/``, into a cache outside the checkout, and prints where each program is;
``--where`` builds nothing. What ``KUBEBUILDER_ASSETS`` or ``ASCEND_CLUSTER_ASSETS`` hold is not
built. A module's folder in the cache is named by the hash of its ``go.mod``, ``go.sum`` and
recipe, so a changed pin rebuilds that module alone. One that can't be built is named with the
reason, the others are built all the same, and the exit code is 1.

Decided here: which programs there are, how they are built, where they are kept. Who needs which
of them, and what happens where one is missing, is the tests' own business.
"""

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
MODULES_FOLDER: Final = ROOT / "tests" / "cluster" / "assets"
COMMAND: Final = "python -m tools.cluster_assets"

_KUBERNETES: Final = "k8s.io/kubernetes"
_PATIENT: Final = {"GOGC": "400"}
"""A quarter less computing for 130 MiB more in each compiler; what is built is the same."""
_RELEASE: Final = re.compile(r"v(?P<major>\d+)\.(?P<minor>\d+)\.\d+\S*")


class BuildError(Exception):
    """A program could not be built; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Go module of ours and the programs it builds."""

    name: str
    """Its folder in ``tests/cluster/assets``."""
    programs: Mapping[str, str]
    """Go package by the name of the program."""
    tags: tuple[str, ...] = ()
    root: Path = MODULES_FOLDER

    @property
    def folder(self) -> Path:
        """Return where its ``go.mod`` is."""
        return self.root / self.name

    def flags(self) -> list[str]:
        """Return the options of ``go build``, which are part of what is cached.

        Raises:
            BuildError: ``go.mod`` names no release of Kubernetes where one is wanted.

        """
        linker = ["-s", "-w"]
        if self.name == "kubernetes":
            linker += self._release()
        tags = [f"-tags={','.join(self.tags)}"] if self.tags else []
        return ["-trimpath", "-buildvcs=false", *tags, f"-ldflags={' '.join(linker)}"]

    def _release(self) -> list[str]:
        """Return the linker's options that tell the server its version: without it is v0.0.0."""
        release = _RELEASE.fullmatch(pinned(self.folder / "go.mod", _KUBERNETES))
        if release is None:
            raise BuildError(f"{self.folder / 'go.mod'} pins no release of {_KUBERNETES}")
        told = {"Version": release[0], "Major": release["major"], "Minor": release["minor"]}
        variable = "k8s.io/component-base/version.git"
        return [
            option for key, value in told.items() for option in ("-X", f"{variable}{key}={value}")
        ]


MODULES: Final = (
    Module(
        name="etcd",
        programs={"etcd": "go.etcd.io/etcd/server/v3"},
    ),
    Module(
        name="kubernetes",
        programs={
            "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
            "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
            "kubelet": "k8s.io/kubernetes/cmd/kubelet",
        },
    ),
    Module(
        name="containerd",
        programs={
            "containerd": "github.com/containerd/containerd/v2/cmd/containerd",
            "containerd-shim-runc-v2": (
                "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
            ),
            "ctr": "github.com/containerd/containerd/v2/cmd/ctr",
        },
        tags=("no_btrfs", "no_zfs", "no_devmapper"),  # the snapshotters that want C libraries
    ),
    Module(
        name="helm",
        programs={"helm": "helm.sh/helm/v4/cmd/helm"},
    ),
)


def pinned(go_mod: Path, module: str) -> str:
    """Return the version of *module* that *go_mod* requires; empty where it requires none."""
    found = re.search(
        rf"^\s*(?:require )?{re.escape(module)} (v\S+)", go_mod.read_text(), re.MULTILINE
    )
    return found[1] if found else ""


def cache_root(environment: Mapping[str, str]) -> Path:
    """Return the folder of all that was built, by the XDG base directory convention."""
    base = environment.get("XDG_CACHE_HOME", "")
    cache = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return cache / "ascend-agent" / "cluster-assets"


def cache_folder(module: Module, environment: Mapping[str, str]) -> Path:
    """Return where *module*'s programs are kept: one folder for each state of its pins."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((module.folder / name).read_bytes())
    digest.update(repr((module.flags(), sorted(module.programs.items()))).encode())
    digest.update(platform.machine().encode())
    return cache_root(environment) / f"{module.name}-{digest.hexdigest()[:16]}"


def module_of(program: str) -> Module:
    """Return the module that builds *program*; raises KeyError where none does."""
    for module in MODULES:
        if program in module.programs:
            return module
    raise KeyError(program)


def find(program: str, environment: Mapping[str, str]) -> Path | None:
    """Return where *program* is: in a folder the environment names, else in the cache, or None."""
    module = module_of(program)
    named = (environment.get(name) for name in ("KUBEBUILDER_ASSETS", "ASCEND_CLUSTER_ASSETS"))
    folders = [Path(folder) for folder in named if folder]
    for folder in (*folders, cache_folder(module, environment)):
        path = folder / program
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None


def build(program: str, environment: Mapping[str, str]) -> Path:
    """Build *program* into the cache and return its path; there is never half a program.

    Raises:
        BuildError: Go is missing or refused; its own words went to stderr.

    """
    module = module_of(program)
    go = shutil.which("go", path=environment.get("PATH", os.defpath))
    if go is None:
        raise BuildError("Go is not installed (none on PATH)")
    target = cache_folder(module, environment) / program
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{program}.{os.getpid()}")
    command = [go, "build", "-mod=readonly", *module.flags(), "-o", str(half)]
    made = {**_PATIENT, **environment, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": ""}
    try:
        ran = subprocess.run(
            [*command, module.programs[program]], cwd=module.folder, env=made, check=False
        )
        if ran.returncode != 0:
            raise BuildError(f"go build ended with code {ran.returncode}")
        half.replace(target)
    finally:
        half.unlink(missing_ok=True)
    return target


def provide(programs: Sequence[str], environment: Mapping[str, str], *, building: bool) -> int:
    """Print where each program is, after building it if *building*; return the exit code."""
    missing = 0
    for program in programs:
        path, how = find(program, environment), "there"
        if path is None and building:
            print(f"{program}: building", flush=True)
            started = time.monotonic()
            try:
                path = build(program, environment)
            except (BuildError, OSError) as error:
                how = f"can't be built: {error}"
            else:
                how = f"built in {time.monotonic() - started:.0f} s"
        elif path is None:
            how = f"missing: `{COMMAND}` builds it"
        missing += path is None
        print(f"{program}: {how}" + (f": {path}" if path else ""), flush=True)
    return 1 if missing else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is missing, or with ``--where`` only say what is."""
    every = [program for module in MODULES for program in module.programs]
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("program", nargs="*", help=f"those wanted, of {', '.join(every)}; all")
    parser.add_argument("--where", action="store_true", help="build nothing, say where each is")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.program) - set(every))
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)}")
    environment = os.environ  # noqa: TID251 -- the tool's command line is its environment too
    return provide(options.program or every, environment, building=not options.where)


if __name__ == "__main__":
    sys.exit(main())
