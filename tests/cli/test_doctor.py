"""How the findings look, and the whole command on a healthy and on a broken node."""

import io
import json
import os
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from ascend_agent.cli.adopt import Adopted
from ascend_agent.cli.compose import Show
from ascend_agent.cli.doctor import DoctorReport, as_object, show_report
from ascend_agent.cli.doctor import consult as consult_here
from ascend_agent.doctor.checks import CHECKS
from ascend_agent.doctor.findings import Examined, Verdict, fail, ok, skipped, warn
from ascend_agent.settings import Settings
from tests.agent.scene import Node, node
from tests.cli.programs import run_program
from tests.doctor.scene import as_nobody
from tests.doctor.told import consult
from tests.fake_dcmi.control import FakeHost

REPORT = DoctorReport(
    examined=(
        Examined(check="driver", findings=(ok("driver answers", "25.2"),), took_ms=12),
        Examined(
            check="kubelet",
            findings=(
                fail("kubelet does not listen", "refused", remedy="start it"),
                warn("slow", remedy="wait"),
            ),
            took_ms=1,
        ),
        Examined(check="clock", findings=(skipped("clock", "no API server"),), took_ms=0),
    ),
    configuration={"shares": {"value": 2, "origin": "--shares"}},
)


def shown(*, as_json: bool) -> str:
    stream = io.StringIO()
    show_report(REPORT, stream=stream, as_json=as_json)
    return stream.getvalue()


def test_each_finding_is_a_line_with_its_remedy_below() -> None:
    assert shown(as_json=False).splitlines() == [
        "ok      driver              driver answers: 25.2",
        "fail    kubelet             kubelet does not listen: refused",
        "        -> start it",
        "warn    kubelet             slow",
        "        -> wait",
        "skipped clock               clock: no API server",
        "fail: 1 fail, 1 warn, 1 skipped, 1 ok",
    ]


def test_a_long_line_is_not_cut_where_no_person_looks() -> None:
    """A path in two pieces can neither be copied nor be found by grep."""
    long = "/a" * 300
    report = DoctorReport(
        examined=(Examined(check="x", findings=(ok(long),), took_ms=0),), configuration={}
    )
    stream = io.StringIO()

    show_report(report, stream=stream, as_json=False)

    assert long in stream.getvalue()


def test_what_others_named_can_not_act_on_a_terminal() -> None:
    """Any process may call itself a plugin, with line ends and colours in its name."""
    odd = "/opt/\x1b[2J\nok      driver\r\u202e/plug\udcff"
    report = DoctorReport(
        examined=(Examined(check="x", findings=(warn("w", odd, remedy=odd),), took_ms=0),),
        configuration={},
    )
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")

    show_report(report, stream=stream, as_json=False)

    stream.seek(0)
    lines = stream.read().splitlines()
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
    assert "\\x1b[2J\\nok" in lines[0]


def test_json_is_one_object_with_every_finding() -> None:
    found = json.loads(shown(as_json=True))

    assert found["verdict"] == "fail"
    assert found["findings"][1] == {
        "check": "kubelet",
        "verdict": "fail",
        "what": "kubelet does not listen",
        "detail": "refused",
        "remedy": "start it",
    }
    assert found["took_ms"] == {"driver": 12, "kubelet": 1, "clock": 0}
    assert found["configuration"] == {"shares": {"value": 2, "origin": "--shares"}}


def test_the_verdict_is_the_worst() -> None:
    assert REPORT.verdict is Verdict.FAIL
    assert as_object(REPORT)["verdict"] == "fail"


# --- the whole command, in a process of its own ----------------------------------------------


@asynccontextmanager
async def pods(scene: Node) -> AsyncIterator[None]:
    await scene.kubelet.do("pods", socket=str(scene.pod_resources), pods=[])
    yield


def _make_nodes(root: Path) -> None:
    (root / "dev").mkdir()
    for name in ("davinci_manager", "davinci0", "davinci1"):
        os.mknod(root / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def options(scene: Node) -> list[str]:
    """Return the options of the scene's own agent, less the program and its command."""
    words = scene.command()
    return words[words.index("run") + 1 : words.index("--http")]


@pytest.mark.peer
async def test_a_healthy_node_passes_while_its_agent_serves(fake_dcmi: Path) -> None:
    """Beside a running agent, whose socket, lock and registration it must not disturb."""
    async with node(fake_dcmi, "preset 910B3 2") as scene, pods(scene), scene.serving() as agent:
        port = (await agent.logged("http server listens"))["port"]
        _make_nodes(scene.home)
        told = await consult(
            *options(scene),
            *("--http", f"127.0.0.1:{port}", "--host-root", str(scene.home)),
            ASCEND_DOCKER_RUNTIME="True",
            **scene.host.environment,
        )

        assert (told.code, told.what("fail")) == (0, {}), told.found
        assert told.verdicts("agent") == {"ok"}
        assert told.verdicts("node-lock") == {"ok"}
        assert told.verdicts("other-plugins") <= {"ok", "warn"}
        for check in ("driver", "npus", "device-nodes", "kubelet", "pod-resources"):
            assert told.verdicts(check) == {"ok"}, told.found
        assert (await agent.status())["ready"]
        assert agent.told("another instance serves this node") == []
    assert told.found["configuration"]["library"]["origin"] == "--library"


@pytest.mark.peer
async def test_a_broken_node_fails_and_says_where() -> None:
    with _home() as home:
        (home / "plugins").mkdir()
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(home / "plugins/kubelet.sock"))
        told = await consult(
            *("--library", "/nowhere/libdcmi.so"),
            *("--device-plugin-dir", str(home / "plugins")),
            *("--kubelet-dir", str(home)),
            *("--run-dir", str(home / "run")),
            *("--node-name", "n1", "--kubeconfig", str(home / "none")),
        )

    assert told.code == 1
    assert told.what("fail") == {
        "configuration": "file missing",
        "driver-library": "library missing",
        "driver": "driver does not answer",
        "kubelet": "kubelet does not listen",
        "pod-resources": "no pod resources",
        "api-server": "api server does not answer",
    }
    assert all(one["remedy"] for one in told.found["findings"] if one["verdict"] == "fail")
    assert told.err == ""


@pytest.mark.peer
async def test_a_library_that_hangs_is_a_failure_and_no_hang(
    fake_dcmi: Path, make_fake_host: Callable[..., FakeHost]
) -> None:
    host = make_fake_host("preset 910B3 1")
    host.hang("dcmi_init")

    told = await consult(
        "--library", str(fake_dcmi), "--allow-unsafe-library", "--check-deadline", "1",
        **host.environment,
    )  # fmt: skip

    assert told.code == 1
    assert told.what("fail")["driver"] == "driver does not answer"
    assert told.verdicts("npus") == {"skipped"}


@pytest.mark.peer
async def test_an_ordinary_user_is_told_what_can_not_be_seen() -> None:
    """In this process: the tests' interpreter may be closed to others, and a worker is then too."""
    settings = Settings.model_validate({"driver": "simulated"})
    looks = Show(for_s=None, as_json=True, has_scenario=False)
    with as_nobody():
        report = await consult_here(settings, looks, Adopted(argv=[], environment={}), ())

    found = {each.check: each.findings for each in report.examined}
    assert found.keys() == {check.name for check in CHECKS}
    assert (found["rights"][0].verdict, found["rights"][0].what) == (Verdict.WARN, "not root")


@pytest.mark.peer
async def test_the_driver_is_looked_for_where_the_agent_looks(
    fake_dcmi: Path, make_fake_host: Callable[..., FakeHost]
) -> None:
    told = await consult(
        "--library-path", str(fake_dcmi.parent), "--allow-unsafe-library",
        **make_fake_host("preset 910B3 1").environment,
    )  # fmt: skip

    assert told.verdicts("driver") == {"ok"}
    assert told.verdicts("driver-library") == {"warn"}  # found, and owner and mode not looked at


@pytest.mark.peer
async def test_every_check_says_something(fake_dcmi: Path) -> None:
    told = await consult("--driver", "simulated", "--inject", "runtime")

    said = {one["check"] for one in told.found["findings"]}
    assert said == {check.name for check in CHECKS}


@contextmanager
def _home() -> Iterator[Path]:
    # Socket paths are short: a test's own directory may be too deep.
    with tempfile.TemporaryDirectory(prefix="d") as home:
        yield Path(home)


@pytest.mark.peer
def test_wrong_options_end_with_2_like_those_of_other_commands() -> None:
    done = run_program("doctor", "--check-deadline=soon", "--for=3")

    assert done.code == 2
    assert "--check-deadline: 'soon' is no time" in done.err
    assert "--for is no option of doctor" in done.err
    assert os.linesep not in done.out
