"""The image that the Dockerfile makes: what is in it, and that two builds make the same."""

import hashlib
import json
import re
import stat
import tomllib
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import pytest

from image.libraries import FOR_THE_VENDOR
from tests.image.container import Image

pytestmark = [pytest.mark.image, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
ENVIRONMENT = "opt/ascend-agent"
MOST_BYTES = 170 * 1024 * 1024
PROGRAMS = re.compile(
    r"(usr/)?bin/python3(\.\d+)?|usr/local/bin/python(3(\.\d+)?)?|(usr/)?sbin/ldconfig"
    rf"|{ENVIRONMENT}/bin/(ascend-agent|python(3(\.\d+)?)?)"
)
FORBIDDEN = re.compile(
    r"(ba|da|z|k)?sh|busybox|perl[\d.]*|apt(-.*)?|dpkg(-.*)?|pip[\d.]*|uv|easy_install.*|conda"
    r"|(.*-)?(cc|gcc|g\+\+|c\+\+|clang|ld|as|cpp|make)(-\d+)?|tcc|rustc|go|ensurepip|curl|wget"
)
LICENCES = {
    *("Apache-2.0", "Apache 2.0", "Apache-2.0 AND MIT", "Apache-2.0 AND BSD-2-Clause", "MIT"),
    *("The MIT License (MIT)", "License :: OSI Approved :: MIT License", "BSD-2-Clause"),
    *("BSD-3-Clause", "PSF-2.0"),
}


def facts(tree: Path) -> dict[str, tuple[Any, ...]]:
    """Return what there is to know of each file below *tree*, the times included."""
    found = {}
    for path in tree.rglob("*"):
        status = path.lstat()
        known = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime)
        if path.is_symlink():
            content = str(path.readlink())
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        found[str(path.relative_to(tree))] = (*known, content)
    return found


def distributions(built: Path) -> dict[str, Any]:
    """Return the metadata of each Python distribution in the image, by its normalised name."""
    folders = (built / "first" / ENVIRONMENT).glob("lib/*/site-packages/*.dist-info")
    texts = [HeaderParser().parsestr((folder / "METADATA").read_text()) for folder in folders]
    return {re.sub(r"[-_.]+", "-", text["Name"]).lower(): text for text in texts}


def test_two_builds_are_the_same_byte_for_byte(built: Path) -> None:
    """Who doubts an image can build it again; modes and times count, too."""
    first, second = facts(built / "first"), facts(built / "second")

    assert len(first) > 3000
    assert first == second


def test_every_time_is_the_one_that_was_given(built: Path) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    (epoch,) = re.findall(r"^ARG SOURCE_DATE_EPOCH=(\d+)$", dockerfile, re.MULTILINE)

    assert {fact[3] for fact in facts(built / "first").values()} == {float(epoch)}


def test_no_shell_no_package_manager_no_compiler(built: Path) -> None:
    """Whoever gets in finds no tools."""
    tree = built / "first"
    names = [path.relative_to(tree) for path in tree.rglob("*") if path.is_file()]

    assert [str(name) for name in names if FORBIDDEN.fullmatch(name.name)] == []
    assert [str(name) for name in names if "pip" in name.parts or "apt" in name.parts] == []


def test_the_folders_of_programs_hold_the_interpreter_ours_and_the_loaders_cache(
    built: Path,
) -> None:
    tree = built / "first"
    found = [path for path in tree.rglob("*") if path.parent.name in {"bin", "sbin"}]
    programs = {str(path.relative_to(tree)) for path in found}

    assert {name for name in programs if not PROGRAMS.fullmatch(name)} == set()
    assert f"{ENVIRONMENT}/bin/ascend-agent" in programs


def test_nobody_gets_other_rights_or_writes_but_in_tmp(built: Path) -> None:
    tree = built / "first"
    loose = {
        str(path.relative_to(tree)): oct(status.st_mode)
        for path in tree.rglob("*")
        if not stat.S_ISLNK((status := path.lstat()).st_mode)
        and (status.st_mode & 0o6022 or status.st_uid or status.st_gid)
    }

    assert loose == {"tmp": "0o41777", "var/tmp": "0o41777"}


def test_the_environment_holds_what_is_pinned_and_the_agent(built: Path) -> None:
    pinned = dict(
        re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements/run.txt").read_text(), re.MULTILINE)
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    found = {name: text["Version"] for name, text in distributions(built).items()}

    assert found == pinned | {project["name"]: project["version"]}


def test_notice_tells_of_every_licence(built: Path) -> None:
    """One under the Mozilla licence is named there, one under a licence unheard of is a find."""
    notice = (ROOT / "NOTICE").read_text()
    for name, text in distributions(built).items():
        classifiers = text.get_all("Classifier", [])
        approved = [each for each in classifiers if each.startswith("License ::")]
        licence = text["License-Expression"] or text["License"] or "; ".join(approved)
        licence = licence.splitlines()[0]  # some put the whole text there
        assert licence in LICENCES or (licence == "MPL-2.0" and f"\n  {name} " in notice), name


def test_every_carried_package_left_its_entry_and_its_licence(built: Path) -> None:
    """Scanners look for the one, lawyers for the other."""
    tree = built / "first"
    entries = list((tree / "var/lib/dpkg/status.d").iterdir())

    assert {"libc6", "libstdc++6"} <= {entry.name for entry in entries}
    for entry in entries:
        assert entry.read_text().startswith(f"Package: {entry.name}\n")
        assert (tree / "usr/share/doc" / entry.name / "copyright").stat().st_size


def test_the_image_tells_where_it_is_from(built: Path) -> None:
    """OCI image specification, annotations."""
    config = json.loads((built / "config.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "org.opencontainers.image."
    labels = {
        name.removeprefix(prefix): value
        for name, value in config["Labels"].items()
        if name.startswith(prefix)
    }

    assert re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", labels.pop("base.name"))
    assert labels == {
        "title": project["name"],
        "description": project["description"],
        "licenses": project["license"],
        "version": project["version"],
        "revision": "ab" * 20,
        "source": "https://example.org/a",
    }


def test_it_is_small(built: Path) -> None:
    tree = built / "first"
    size = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file())

    assert size < MOST_BYTES


def test_each_module_is_bytecode_already(built: Path) -> None:
    """A module without would be compiled at each start, since the root is read-only."""
    tree = built / "first"
    sources = {path for path in tree.rglob("*.py") if path.parent.name != "bin"}

    bare = [
        str(path.relative_to(tree))
        for path in sources
        if not list((path.parent / "__pycache__").glob(f"{path.stem}.cpython-*.pyc"))
    ]

    assert bare == []


def test_nothing_is_compiled_at_a_start(image: Image) -> None:
    """``python -v`` names the file that each module's code came from."""
    told = image.run(
        "-v", "-c", "import ascend_agent.app, ascend_agent.driver.worker",
        program=f"/{ENVIRONMENT}/bin/python",
    )  # fmt: skip

    origins = re.findall(r"^# code object from '?([^'\n]+)'?$", told, re.MULTILINE)
    assert len(origins) > 200
    assert [origin for origin in origins if not origin.endswith(".pyc")] == []


def test_every_module_can_be_imported(image: Image) -> None:
    """What was left out of the standard library is missed by none of ours."""
    script = (
        "import importlib, pkgutil, ascend_agent\n"
        "for each in pkgutil.walk_packages(ascend_agent.__path__, 'ascend_agent.'):\n"
        "    if not each.name.endswith('__main__'): importlib.import_module(each.name)\n"
        "print('all')"
    )

    assert image.run("-c", script, program=f"/{ENVIRONMENT}/bin/python") == "all\n"


def test_every_extension_of_the_standard_library_finds_its_libraries(image: Image) -> None:
    script = (
        "import importlib, os, pathlib\n"
        "folder = pathlib.Path(os.__file__).parent / 'lib-dynload'\n"
        "names = {path.name.partition('.')[0] for path in folder.iterdir()}\n"
        "for name in names: importlib.import_module(name)\n"
        "print(len(names))"
    )

    assert int(image.run("-c", script, program=f"/{ENVIRONMENT}/bin/python")) > 10


def test_the_libraries_that_a_vendors_may_want_can_be_loaded(image: Image) -> None:
    """Its library is C and C++, made against a glibc whose parts were still apart."""
    script = "import ctypes, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name)\nprint('all')"

    told = image.run("-c", script, *FOR_THE_VENDOR, program=f"/{ENVIRONMENT}/bin/python")

    assert told == "all\n"
