"""Where container runtimes keep their configuration."""

import os
from pathlib import Path

import pytest

from ascend_agent.doctor.runtime_files import find_configs
from tests.doctor.scene import place, put

ASCEND = """
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend.options]
BinaryName = "/usr/bin/ascend-docker-runtime"
"""


@pytest.mark.parametrize(
    "path",
    [
        "/etc/containerd/config.toml",
        "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
        "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
        "/var/snap/microk8s/current/args/containerd.toml",
        "/etc/k0s/containerd.toml",
    ],
)
def test_each_distributions_containerd_is_found(tmp_path: Path, path: str) -> None:
    where = place(tmp_path)
    put(where.on_host(path), ASCEND)

    (found,) = find_configs(where.on_host)

    assert (found.path, found.config.ascend, found.trouble) == (path, ("ascend",), "")


@pytest.mark.parametrize("pattern", ["/etc/containerd/conf.d/*.toml", "conf.d/*.toml"])
def test_imports_of_containerd_are_read(tmp_path: Path, pattern: str) -> None:
    """Installers put their part into a file beside, and a container has other paths."""
    where = place(tmp_path)
    put(where.on_host("/etc/containerd/config.toml"), f'version = 3\nimports = ["{pattern}"]\n')
    put(where.on_host("/etc/containerd/conf.d/ascend.toml"), ASCEND)

    (found,) = find_configs(where.on_host)

    assert found.config.ascend == ("ascend",)


def test_docker_and_crio_are_found_beside_it(tmp_path: Path) -> None:
    where = place(tmp_path)
    put(where.on_host("/etc/docker/daemon.json"), '{"default-runtime": "ascend"}')
    put(where.on_host("/etc/crio/crio.conf"), "")
    put(
        where.on_host("/etc/crio/crio.conf.d/10.conf"),
        '[crio.runtime]\ncdi_spec_dirs = ["/etc/cdi"]\n',
    )

    docker, crio = find_configs(where.on_host)

    assert (docker.config.product, docker.config.default) == ("docker", "ascend")
    assert (crio.config.product, crio.config.cdi_dirs) == ("cri-o", ("/etc/cdi",))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/containerd/config.toml", "= nonsense"),
        ("/etc/docker/daemon.json", "[]"),
        ("/etc/docker/daemon.json", "{"),
    ],
)
def test_a_file_that_can_not_be_read_is_told_with_the_reason(
    tmp_path: Path, path: str, text: str
) -> None:
    where = place(tmp_path)
    put(where.on_host(path), text)

    (found,) = find_configs(where.on_host)

    assert found.trouble


def test_a_pod_without_the_hosts_files_finds_none(tmp_path: Path) -> None:
    assert find_configs(place(tmp_path).on_host) == ()


@pytest.mark.parametrize("path", ["/etc/docker/daemon.json", "/etc/crio/crio.conf"])
@pytest.mark.parametrize(
    "content", [b"[" * 200_000, b"a=" + b"[" * 200_000, b"\xff", b"#\n" * 3_000_000]
)
def test_a_file_nobody_can_read_is_told_and_harms_no_other(
    tmp_path: Path, path: str, content: bytes
) -> None:
    where = place(tmp_path)
    put(where.on_host("/etc/containerd/config.toml"), ASCEND)
    put(where.on_host(path), "")
    where.on_host(path).write_bytes(content)

    good, bad = find_configs(where.on_host)

    assert (good.config.ascend, good.trouble) == (("ascend",), "")
    assert (bad.path, bool(bad.trouble)) == (path, True)


@pytest.mark.parametrize("kind", ["pipe", "directory", "loop"])
def test_what_is_there_and_no_file_is_told(tmp_path: Path, kind: str) -> None:
    where = place(tmp_path)
    path = where.on_host("/etc/docker/daemon.json")
    path.parent.mkdir(parents=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.symlink_to(path.name)

    (found,) = find_configs(where.on_host)

    assert found.trouble
