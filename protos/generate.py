"""Writes the classes of the kubelet's APIs, or checks that the committed ones are fresh.

Decided here: which API goes where, and that the same input gives the same bytes on every Python
and in every checkout. What the files say is decided by the protos beside this file; the result
is committed, so that neither build nor installation needs a compiler.
"""
# ruff: noqa: INP001 -- a script beside its input, no package

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_AGENT = Path("ascend_agent/_generated")
_PEER = Path("tests/peer/_generated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One proto file: its folder under ``protos``, and the folder of its classes.

    Each API has a run of its own: two of the kubelet's APIs call their package ``v1``, and one
    run over both would melt them into one module.
    """

    source: str
    family: str


_APIS = (
    Api(source="deviceplugin/v1beta1", family="deviceplugin"),
    Api(source="podresources/v1", family="podresources"),
    Api(source="podresources/v1alpha1", family="podresources"),
)


def _protoc(workplace: Path, *arguments: str) -> None:
    """Run the compiler in *workplace*, where no settings of this checkout reach its formatter."""
    tools = Path(sys.executable).parent
    command = [sys.executable, "-m", "grpc_tools.protoc", *arguments]
    done = subprocess.run(  # noqa: S603 -- our own compiler on our own files
        command,
        cwd=workplace,
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)


def _write_agent(api: Api, workplace: Path) -> None:
    out = workplace / _AGENT / api.family
    out.mkdir(parents=True, exist_ok=True)
    source = _ROOT / "protos" / api.source
    _protoc(
        workplace,
        f"-I{source}",
        f"--python_betterproto2_out={out}",
        # Without this the compiler writes blocking clients that import grpc.
        "--python_betterproto2_opt=server_generation=async,client_generation=async",
        f"{source / 'api.proto'}",
    )


def _write_peer(api: Api, workplace: Path) -> None:
    # The mapped path becomes the module's name: plain `api.proto` would be three files of one
    # name to the protobuf library, which refuses the second.
    place = _PEER / api.source
    _protoc(
        workplace,
        f"-I{place}={_ROOT / 'protos' / api.source}",
        f"--python_out={workplace}",
        f"--pyi_out={workplace}",
        f"--grpc_python_out={workplace}",
        f"{place / 'api.proto'}",
    )


def _files(folder: Path) -> Iterator[Path]:
    """Yield the generated files below *folder*, relative to it; compiled Python is none."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(folder)


def _differences(workplace: Path) -> list[str]:
    """Return what the committed folders and the fresh ones do not agree on, one line a file."""
    found = []
    for folder in sorted({_AGENT / api.family for api in _APIS} | {_PEER}):
        fresh, committed = workplace / folder, _ROOT / folder
        for name in sorted({*_files(fresh), *_files(committed)}):
            new, old = fresh / name, committed / name
            if not old.exists():
                found.append(f"{folder / name} is missing")
            elif not new.exists():
                found.append(f"{folder / name} is generated no longer")
            elif new.read_bytes() != old.read_bytes():
                found.append(f"{folder / name} differs")
    return found


def _replace(workplace: Path) -> None:
    for folder in {_AGENT / api.family for api in _APIS} | {_PEER}:
        shutil.rmtree(_ROOT / folder, ignore_errors=True)
        shutil.copytree(workplace / folder, _ROOT / folder)


def main() -> int:
    """Generate, or with ``--check`` compare; return the exit code."""
    parser = argparse.ArgumentParser(description="Generate the classes of the kubelet's APIs.")
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as name:
        workplace = Path(name)
        (workplace / "ruff.toml").touch()
        for api in _APIS:
            _write_agent(api, workplace)
            _write_peer(api, workplace)
        stale = _differences(workplace)
        if check:
            lines = [*stale, "run: python protos/generate.py"] if stale else ["fresh"]
            sys.stdout.write("\n".join(lines) + "\n")
            return 1 if stale else 0
        if stale:
            _replace(workplace)
        return 0


if __name__ == "__main__":
    sys.exit(main())
