"""A doctor beside an agent goes by the agent's options."""

import os
from pathlib import Path

import pytest

from ascend_agent.cli.adopt import adopt
from tests.doctor.scene import put

HERE = {"PATH": "/bin", "LD_LIBRARY_PATH": "/mine"}


def process(proc: Path, pid: int, *words: str, same: bool = True, **variables: str) -> None:
    """Put a process there; *same*: it sees the same file system as we do."""
    put(proc / str(pid) / "cmdline", "".join(f"{word}\0" for word in words))
    put(proc / str(pid) / "environ", "".join(f"{k}={v}\0" for k, v in variables.items()))
    namespace = proc / str(pid) / "ns/mnt"
    namespace.parent.mkdir()
    if same:
        os.link(proc / "self/ns/mnt", namespace)
    else:
        namespace.touch()


@pytest.fixture(name="proc")
def _proc(tmp_path: Path) -> Path:
    put(tmp_path / "self/ns/mnt")
    put(tmp_path / "meminfo")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("/opt/ascend-agent/bin/python", "/opt/ascend-agent/bin/ascend-agent", "run"),
        ("/usr/bin/python3", "-m", "ascend_agent", "run"),
        ("ascend-agent", "run"),
    ],
)
def test_the_options_of_the_agent_beside_us_are_taken_over(
    proc: Path, words: tuple[str, ...]
) -> None:
    """``kubectl exec`` gives a program none of the options of the pod's own command."""
    process(proc, 7, *words, "--inject", "cdi", "-shareDevCount=2")

    adopted = adopt(["doctor", "--json"], HERE, proc=proc)

    assert adopted.argv == ["doctor", "--inject", "cdi", "-shareDevCount=2", "--json"]
    assert adopted.agent == 7


def test_so_are_the_variables_it_goes_by_and_no_others(proc: Path) -> None:
    process(
        proc,
        7,
        "ascend-agent",
        "run",
        NODE_NAME="n1",
        ASCEND_AGENT_SHARES="2",
        LD_LIBRARY_PATH="/its",
        HOOK_PATH="/hook",
        HAMI_VNPU_ASSETS_PATH="/assets",
        PASSWORD="secret",  # noqa: S106 -- to be left alone
    )

    assert adopt(["doctor"], HERE, proc=proc).environment == {
        "PATH": "/bin",
        "NODE_NAME": "n1",
        "ASCEND_AGENT_SHARES": "2",
        "LD_LIBRARY_PATH": "/its",
        "HOOK_PATH": "/hook",
        "HAMI_VNPU_ASSETS_PATH": "/assets",
    }


@pytest.mark.parametrize(
    "argv",
    [
        ["doctor", "--shares=2"],
        ["doctor", "--inject", "cdi"],
        ["doctor", "-shareDevCount=2"],
        ["run"],
        ["devices", "--json"],
        [],
    ],
)
def test_who_has_options_of_its_own_keeps_to_them(proc: Path, argv: list[str]) -> None:
    """Two sources of options would contradict each other."""
    process(proc, 7, "ascend-agent", "run", "--inject=cdi")

    adopted = adopt(argv, HERE, proc=proc)

    assert (adopted.argv, adopted.environment, adopted.agent) == (argv, HERE, None)


@pytest.mark.parametrize(
    "argv", [["doctor"], ["doctor", "--check-deadline", "3"], ["doctor", "--log-level=debug"]]
)
def test_options_about_the_looking_are_no_options_of_ones_own(proc: Path, argv: list[str]) -> None:
    process(proc, 7, "ascend-agent", "run", "--inject=cdi")

    assert adopt(argv, HERE, proc=proc).argv == ["doctor", "--inject=cdi", *argv[1:]]


def test_an_agent_with_another_file_system_is_passed_over(proc: Path) -> None:
    """On a node one sees the agents of all pods; their paths mean nothing here."""
    process(proc, 7, "ascend-agent", "run", "--inject=cdi", same=False)

    assert adopt(["doctor"], HERE, proc=proc).agent is None


@pytest.mark.parametrize(
    "words",
    [
        ("ascend-agent", "sim"),
        ("python", "-m", "ascend_agent.driver.worker", "5"),
        ("grep", "ascend_agent", "run"),
        ("bash",),
        (),
    ],
)
def test_other_programs_are_no_agent(proc: Path, words: tuple[str, ...]) -> None:
    process(proc, 7, *words)

    assert adopt(["doctor"], HERE, proc=proc).agent is None


def test_the_oldest_of_two_agents_counts(proc: Path) -> None:
    process(proc, 12, "ascend-agent", "run", "--shares=2")
    process(proc, 9, "ascend-agent", "run", "--shares=3")

    assert adopt(["doctor"], HERE, proc=proc).agent == 9


def test_a_process_that_ends_meanwhile_is_passed_over(proc: Path) -> None:
    put(proc / "7/cmdline", "ascend-agent\0run\0")

    assert adopt(["doctor"], HERE, proc=proc).agent is None


def test_without_proc_nothing_is_taken_over(tmp_path: Path) -> None:
    assert adopt(["doctor"], HERE, proc=tmp_path / "none").agent is None
