"""Builds the Dockerfile, twice, and lays out what came of it: ``python -m tools.image OUTDIR``.

No Docker engine and no registry is wanted: Debian's buildah reads the same Dockerfile and runs its
steps by chroot, on a base image that debootstrap makes from the mirror this machine installs from,
or on any root file system that ``--base`` names (an unpacked image, say).
OUTDIR gets ``first`` and ``second``, the two root file systems, each built from nothing, from
sources of its own times; and ``config.json``, what the image says about itself. What may be in
them is left to ``tests/image``. Wants root, and Debian's buildah and debootstrap.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path

from tools.requirements import ROOT

_PACKAGES = "python3,python3-venv"
_PIP_FILES = ("/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")
_PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "cert")
_CA_SECRET = "/run/secrets/ca"  # noqa: S105 -- where the Dockerfile has it
_CONTEXT = ("ascend_agent", "image", "requirements")
_CONTEXT_FILES = (".dockerignore", "Dockerfile", "LICENSE", "NOTICE", "README.md", "pyproject.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Buildah:
    """One store of images, which no other user of buildah sees; ``run`` returns what it printed."""

    folder: Path

    def run(self, *arguments: str | Path) -> str:
        """Run one command of buildah and return its output; raises CalledProcessError."""
        command: list[str | Path] = [
            "buildah",
            "--root",
            self.folder / "store",
            "--runroot",
            self.folder / "run",
        ]
        command += ["--storage-driver", "vfs", *arguments]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        return done.stdout.decode().strip()

    def import_base(self, tree: Path) -> str:
        """Make an image of *tree*; return its name with its digest."""
        container = self.run("from", "scratch")
        self.run("copy", "--quiet", container, tree, "/")
        self.run("commit", "--quiet", "--rm", container, "localhost/base")
        digest = self.run("images", "--format", "{{.Digest}}", "localhost/base")
        return f"localhost/base@{digest}"

    def export(self, image: str, target: Path) -> None:
        """Lay the root file system of *image* out in *target*, which must not exist yet."""
        container = self.run("from", "--pull-never", image)
        mounted = self.run("mount", container)
        subprocess.run(["cp", "-a", mounted, target], check=True)
        self.run("rm", container)


def label_arguments() -> dict[str, str]:
    """Return the build arguments that become labels: the real version, a made-up origin."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"VERSION": project["version"], "REVISION": "ab" * 20, "SOURCE": "https://example.org/a"}


def mirror(suite: str) -> str:
    """Return where this machine gets the packages of *suite* from, as apt knows it."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"],
        check=True,
        capture_output=True,
        text=True,
    )
    for line in listed.stdout.splitlines():
        codename, _, address = line.partition(" ")
        if codename == suite:
            return address
    raise SystemExit(f"apt has no packages of {suite} listed: run `apt-get update` on a Debian")


def make_base(folder: Path, suite: str) -> None:
    """Make a Debian with Python in *folder*, if an earlier run has not."""
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
        tree = Path(unfinished) / suite
        command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", suite, str(tree)]
        subprocess.run([*command, mirror(suite)], check=True, stdout=subprocess.DEVNULL)
        for leftover in ("var/cache/apt", "var/lib/apt/lists", "var/log"):
            shutil.rmtree(tree / leftover)
        tree.rename(folder)


def pip_secrets(folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Write the package index of this machine down for the build, as buildah's arguments."""
    settings: dict[str, str] = {}
    for name in _PIP_FILES:
        parser = ConfigParser(interpolation=None)
        parser.read(Path(name).expanduser())
        settings |= parser["global"] if parser.has_section("global") else {}
    for name in _PIP_SETTINGS:
        variable = f"PIP_{name.replace('-', '_').upper()}"
        settings |= {name: environment[variable]} if variable in environment else {}
    lines = {name: settings[name] for name in _PIP_SETTINGS if name in settings}
    arguments = []
    if "cert" in lines:
        arguments.append(f"--secret=id=ca,src={lines['cert']}")
        lines["cert"] = _CA_SECRET
    file = folder / "pip.conf"
    file.write_text("[global]\n" + "".join(f"{name} = {lines[name]}\n" for name in lines))
    return [f"--secret=id=pip,src={file}", *arguments]


def copy_context(source: Path, target: Path) -> None:
    """Copy what the build needs, as a fresh checkout would have it: with the times of now."""
    for name in _CONTEXT:
        shutil.copytree(
            source / name,
            target / name,
            copy_function=shutil.copyfile,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for name in _CONTEXT_FILES:
        shutil.copyfile(source / name, target / name)


def suite_of_this_machine() -> str:
    """Return the Debian release that runs here, by name."""
    lines = Path("/etc/os-release").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values["VERSION_CODENAME"].strip('"')


def build(outdir: Path, tree: Path, environment: Mapping[str, str]) -> None:
    """Fill *outdir*; *tree* is the base's root file system."""
    with tempfile.TemporaryDirectory(prefix="image") as temporary:
        folder = Path(temporary)
        buildah = Buildah(folder=folder)
        base = buildah.import_base(tree)
        arguments = [f"--build-arg={name}={value}" for name, value in label_arguments().items()]
        arguments += [f"--build-arg=BASE={base}", *pip_secrets(folder, environment)]
        source = ROOT
        for name in ("first", "second"):
            # The second one from a copy of the first: somebody may be editing the checkout.
            copy_context(source, folder / name)
            source = folder / name
            command = ["build", "--quiet", "--isolation=chroot", "--pull-never", "--no-cache"]
            buildah.run(*command, *arguments, f"--tag=localhost/{name}", source)
            buildah.export(f"localhost/{name}", outdir / name)
        told = json.loads(buildah.run("inspect", "--type=image", "localhost/first"))
        (outdir / "config.json").write_text(json.dumps(told["OCIv1"]["config"], indent=2))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build into the directory named."""
    parser = argparse.ArgumentParser(prog="python -m tools.image", description=__doc__)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--base", type=Path, metavar="TREE", help="root file system to build on")
    options = parser.parse_args(arguments)
    environment = os.environ  # noqa: TID251 -- pip's settings, and where caches are kept
    options.outdir.mkdir(parents=True, exist_ok=True)
    tree: Path | None = options.base
    if tree is None:
        cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        suite = suite_of_this_machine()
        tree = cache / "ascend-agent" / "image-base" / suite
        make_base(tree, suite)
    build(options.outdir, tree, environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
