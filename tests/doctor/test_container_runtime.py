"""Whether the container runtime does what the way in needs (IM-4, IM-5)."""

import dataclasses
from pathlib import Path

import pytest

from ascend_agent.doctor.answers import OwnNode
from ascend_agent.doctor.container_runtime import CHECK
from ascend_agent.doctor.findings import Verdict
from tests.doctor.scene import FACTS, found, place, put

CRI = 'plugins."io.containerd.grpc.v1.cri"'
WIRED = f'[{CRI}.containerd.runtimes.ascend.options]\nBinaryName = "/x/ascend-docker-runtime"\n'
DEFAULT = f'[{CRI}.containerd]\ndefault_runtime_name = "ascend"\n{WIRED}'
PLAIN = "version = 3\n"
ON = f'[{CRI}]\nenable_cdi = true\ncdi_spec_dirs = ["/etc/cdi", "/run/cdi"]\n'
OFF = f"[{CRI}]\nenable_cdi = false\n"
ELSEWHERE = f'[{CRI}]\nenable_cdi = true\ncdi_spec_dirs = ["/opt/cdi"]\n'
NOT_SAID = "version = 2\n"
BY_DEFAULT = (Verdict.WARN, "every pod gets ascend-docker-runtime")


@pytest.mark.parametrize(
    ("way", "text", "findings"),
    [
        ("runtime", WIRED, [(Verdict.OK, "ascend-docker-runtime is wired in")]),
        ("runtime", DEFAULT, [(Verdict.OK, "ascend-docker-runtime is wired in"), BY_DEFAULT]),
        ("runtime", PLAIN, [(Verdict.FAIL, "ascend-docker-runtime missing")]),
        ("runtime", None, [(Verdict.WARN, "ascend-docker-runtime not seen")]),
        ("cdi", PLAIN, [(Verdict.OK, "cdi is on")]),
        ("cdi", ON, [(Verdict.OK, "cdi is on")]),
        ("cdi", OFF, [(Verdict.FAIL, "cdi is off")]),
        ("cdi", ELSEWHERE, [(Verdict.FAIL, "cdi directory not read")]),
        ("cdi", NOT_SAID, [(Verdict.WARN, "cdi may be off")]),
        ("cdi", None, [(Verdict.SKIPPED, "container runtime")]),
        ("devices", PLAIN, [(Verdict.OK, "device nodes need no special runtime")]),
        ("devices", None, [(Verdict.SKIPPED, "container runtime")]),
        (
            "devices",
            DEFAULT,
            [(Verdict.OK, "device nodes need no special runtime"), BY_DEFAULT],
        ),
        ("devices", "= nonsense", [
            (Verdict.WARN, "configuration unreadable"), (Verdict.SKIPPED, "container runtime")
        ]),
    ],
)  # fmt: skip
async def test_each_way_in_needs_something_else(
    tmp_path: Path, way: str, text: str | None, findings: list[tuple[Verdict, str]]
) -> None:
    if text is not None:
        put(tmp_path / "etc/containerd/config.toml", text)
    where = place(tmp_path, settings={"inject": way, "cdi_dir": "/var/run/cdi"})

    assert await found(CHECK, where) == findings


async def test_a_container_that_it_started_proves_the_runtime(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"inject": "auto", "docker_runtime": True})

    assert await found(CHECK, where) == [(Verdict.OK, "ascend-docker-runtime is in use")]


@pytest.mark.parametrize("installed", [True, False])
async def test_what_is_missing_is_said(tmp_path: Path, *, installed: bool) -> None:
    """Installed and not wired in, or not there at all: two different errands."""
    put(tmp_path / "etc/containerd/config.toml", PLAIN)
    if installed:
        put(tmp_path / "usr/bin/ascend-docker-runtime")

    (finding,) = await CHECK.look(place(tmp_path, settings={"inject": "runtime"}))

    assert ("not wired in" in finding.detail) is installed


@pytest.mark.parametrize(
    ("runtime", "verdict"),
    [
        ("containerd://2.3.7", Verdict.OK),
        ("containerd://1.7.24", Verdict.WARN),
        ("", Verdict.WARN),
    ],
)
async def test_a_version_tells_what_an_older_file_does_not(
    tmp_path: Path, runtime: str, verdict: Verdict
) -> None:
    """Since containerd 2 CDI is on by default, also with a file in the form of containerd 1."""
    put(tmp_path / "etc/containerd/config.toml", NOT_SAID)
    cluster = dataclasses.replace(FACTS, node=OwnNode(runtime=runtime))
    where = place(tmp_path, cluster=cluster, settings={"inject": "cdi", "cdi_dir": "/var/run/cdi"})

    assert [one for one, _ in await found(CHECK, where)] == [verdict]


@pytest.mark.parametrize(("kubelet", "count"), [("v1.28.15", 1), ("v1.29.0", 0)])
async def test_a_kubelet_that_is_too_old_for_cdi_is_told(
    tmp_path: Path, kubelet: str, count: int
) -> None:
    cluster = dataclasses.replace(FACTS, node=OwnNode(kubelet=kubelet))
    where = place(tmp_path, cluster=cluster, settings={"inject": "cdi"})

    findings = await found(CHECK, where)

    assert findings.count((Verdict.WARN, "kubelet may ignore cdi")) == count


async def test_a_node_that_can_not_be_read_tells_no_version(tmp_path: Path) -> None:
    put(tmp_path / "etc/containerd/config.toml", NOT_SAID)
    cluster = dataclasses.replace(FACTS, node="forbidden")
    where = place(tmp_path, cluster=cluster, settings={"inject": "cdi", "cdi_dir": "/var/run/cdi"})

    assert [what for _, what in await found(CHECK, where)] == ["cdi may be off"]
