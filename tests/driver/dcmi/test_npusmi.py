"""The vendor's tool, by stand-ins that are shell scripts at the tool's places."""

import pytest

from ascend_agent.driver.dcmi.npusmi import NpuSmi, ToolError, parse_share
from tests.driver.dcmi.host import SHARE_TOOL, Host

pytestmark = pytest.mark.peer


def tool(host: Host, *places: str, limit_s: float = 10) -> NpuSmi:
    return NpuSmi(
        limit_s=limit_s,
        places=[str(host.root / place) for place in places],
        library_path="/usr/local/Ascend/driver/lib64",
        lstat=host.lstat,
    )


def test_the_flag_is_set_and_read_with_the_documented_words(host: Host) -> None:
    host.file("tools/npu-smi", SHARE_TOOL, executable=True)
    npu_smi = tool(host, "absent/npu-smi", "tools/npu-smi")

    before = npu_smi.read_share(4, 1)
    npu_smi.set_share(4, 1, on=True)

    after = npu_smi.read_share(4, 1)
    npu_smi.set_share(4, 1, on=False)

    assert (before, after, npu_smi.read_share(4, 1)) == (False, True, False)
    assert (host.root / "tools/calls").read_text().splitlines()[1::2] == [
        "set -t device-share -i 4 -c 1 -d 1 /usr/local/Ascend/driver/lib64",
        "set -t device-share -i 4 -c 1 -d 0 /usr/local/Ascend/driver/lib64",
    ]


def test_a_tool_that_others_can_replace_is_not_run(host: Host) -> None:
    """It would run with our rights."""
    host.file("tools/npu-smi", SHARE_TOOL, executable=True)
    host.mode("tools", 0o777)

    with pytest.raises(ToolError, match="can be written by group or others"):
        tool(host, "tools/npu-smi").set_share(0, 0, on=True)
    assert not (host.root / "tools/calls").exists()


def test_a_host_without_the_tool_says_where_it_was_looked_for(host: Host) -> None:
    with pytest.raises(ToolError, match=r"npu-smi is at none of .*/tools/npu-smi"):
        tool(host, "tools/npu-smi").read_share(0, 0)


def test_a_tool_that_fails_is_quoted(host: Host) -> None:
    script = "#!/bin/sh\necho 'Message : not root'\nexit 1\n"
    host.file("tools/npu-smi", script, executable=True)

    with pytest.raises(ToolError, match="ended with status 1: Message : not root"):
        tool(host, "tools/npu-smi").set_share(0, 0, on=True)


def test_a_tool_that_can_not_be_started_is_an_error(host: Host) -> None:
    host.file("tools/npu-smi", "#!/nonexistent/shell\n", executable=True)

    with pytest.raises(ToolError, match="No such file"):
        tool(host, "tools/npu-smi").set_share(0, 0, on=True)


def test_a_tool_that_hangs_is_given_up(host: Host) -> None:
    """HAMi E11: the older plugin waited for it for ever."""
    host.file("tools/npu-smi", "#!/bin/sh\nsleep 600\n", executable=True)

    with pytest.raises(ToolError, match=r"did not end within 0\.2 s"):
        tool(host, "tools/npu-smi", limit_s=0.2).set_share(0, 0, on=True)


@pytest.mark.parametrize(
    ("line", "enabled"),
    [
        ("\tDevice-share Status            : True", True),
        ("\tDevice-share Status            : False\n", False),
    ],
)
def test_the_tools_answer_is_read(line: str, *, enabled: bool) -> None:
    assert parse_share(f"banner\n{line}") is enabled


@pytest.mark.parametrize("output", ["", "Status : OK", "Device-share Status : maybe"])
def test_an_answer_that_says_something_else_is_no_answer(output: str) -> None:
    """Unknown must not read as off: the flag would be set again and again."""
    with pytest.raises(ToolError, match="shows no share flag"):
        parse_share(output)
