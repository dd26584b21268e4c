"""A program of the driver's runs with our rights: the rule for libraries holds for it."""

from pathlib import Path

import pytest

from ascend_agent.driver.trusted import check_program
from ascend_agent.errors import HostError
from tests.driver.dcmi.host import Host


def test_the_file_that_a_link_leads_to_is_run(tmp_path: Path) -> None:
    host = Host(tmp_path)
    program = host.file("driver/tools/hccn_tool", executable=True)
    link = host.link("usr/bin/hccn_tool", program)

    assert check_program(link, allow_unsafe=False, lstat=host.lstat) == program


def test_what_others_can_replace_is_not_run_unless_that_is_wanted(tmp_path: Path) -> None:
    host = Host(tmp_path)
    program = host.file("driver/tools/hccn_tool", executable=True)
    host.mode("driver/tools", 0o777)

    with pytest.raises(HostError, match="can be written by group or others"):
        check_program(program, allow_unsafe=False, lstat=host.lstat)
    assert check_program(program, allow_unsafe=True, lstat=host.lstat) == program


def test_an_absent_program_is_called_absent_not_a_broken_link(tmp_path: Path) -> None:
    host = Host(tmp_path)

    with pytest.raises(HostError, match="hccn_tool is not there: No such file"):
        check_program(str(host.root / "hccn_tool"), allow_unsafe=False, lstat=host.lstat)
