"""Container runtimes' configuration, as their own documents have it."""

import tomllib

import pytest

from ascend_agent.doctor.runtime_config import (
    RuntimeConfig,
    merge,
    parse_containerd,
    parse_crio,
    parse_docker,
)

PROGRAM = "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime"
CONTAINERD_1 = f"""
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend.options]
        BinaryName = "{PROGRAM}"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
"""
CONTAINERD_2 = f"""
version = 3
[plugins."io.containerd.cri.v1.runtime".containerd]
  default_runtime_name = "ascend"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.ascend.options]
    BinaryName = "{PROGRAM}"
"""
SHIM_1 = """
version = 2
[plugins."io.containerd.runtime.v1.linux"]
  runtime = "/usr/bin/ascend-docker-runtime"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
"""


def test_a_runtime_class_of_containerd_1() -> None:
    config = parse_containerd(tomllib.loads(CONTAINERD_1))

    assert config == RuntimeConfig(
        product="containerd",
        ascend=("ascend",),
        default="runc",
        cdi=True,
        cdi_dirs=("/etc/cdi", "/var/run/cdi"),
    )
    assert not config.ascend_by_default


def test_a_default_of_containerd_2_where_cdi_is_on_by_itself() -> None:
    config = parse_containerd(tomllib.loads(CONTAINERD_2))

    assert (config.ascend, config.cdi, config.ascend_by_default) == (("ascend",), True, True)


def test_the_old_way_replaces_runc_itself() -> None:
    assert parse_containerd(tomllib.loads(SHIM_1)).ascend_by_default


@pytest.mark.parametrize(
    ("text", "cdi"),
    [
        ("version = 2", None),
        ("version = 3", True),
        ('version = 3\n[plugins."io.containerd.cri.v1.runtime"]\nenable_cdi = false', False),
    ],
)
def test_cdi_is_on_off_or_not_said(text: str, cdi: bool | None) -> None:  # noqa: FBT001 -- a column of the table
    assert parse_containerd(tomllib.loads(text)).cdi is cdi


def test_an_empty_configuration_is_the_runtimes_default() -> None:
    assert parse_containerd({}) == RuntimeConfig(product="containerd", default="runc")


def test_forms_nobody_expects_are_passed_over() -> None:
    """A file that the runtime itself accepts may hold anything in tables of others."""
    assert parse_containerd({"plugins": [1], "version": "x"}).ascend == ()
    assert parse_docker({"runtimes": "x", "features": 1}).ascend == ()


def test_docker_as_the_vendors_installer_leaves_it() -> None:
    config = parse_docker(
        {
            "default-runtime": "ascend",
            "runtimes": {"ascend": {"path": PROGRAM, "runtimeArgs": []}},
            "features": {"cdi": True},
        }
    )

    assert (config.ascend_by_default, config.cdi) == (True, True)


def test_crio_knows_cdi_always() -> None:
    config = parse_crio(
        tomllib.loads(
            f'[crio.runtime]\ndefault_runtime = "crun"\n'
            f'[crio.runtime.runtimes.ascend]\nruntime_path = "{PROGRAM}"\n'
        )
    )

    assert (config.ascend, config.default, config.cdi) == (("ascend",), "crun", True)


def test_merging_joins_tables_and_lets_the_later_file_win() -> None:
    assert merge({"a": {"x": 1, "y": 1}, "b": 1}, {"a": {"y": 2}, "c": [3]}) == {
        "a": {"x": 1, "y": 2},
        "b": 1,
        "c": [3],
    }
