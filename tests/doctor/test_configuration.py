"""What is set, by what, and what was set in vain (CF-1)."""

from pathlib import Path

from ascend_agent.doctor.configuration import CHECK, effective
from ascend_agent.doctor.findings import Verdict
from ascend_agent.settings import Settings
from tests.doctor.scene import place, the_one


async def test_what_was_given_is_shown_with_whose_word_it_is(tmp_path: Path) -> None:
    where = place(
        tmp_path,
        settings={"shares": 4},
        origins={"shares": "ASCEND_AGENT_SHARES", "chip": "--chip"},
    )

    finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.detail) == (Verdict.OK, "shares=4 (ASCEND_AGENT_SHARES)")


async def test_what_was_given_in_vain_is_a_warning(tmp_path: Path) -> None:
    """A misspelt variable has no effect, and nobody was told."""
    where = place(tmp_path, unused=(("ASCEND_AGENT_SHARE", "no option has this name"),))

    warning, _ = await CHECK.look(where)

    assert (warning.verdict, warning.what) == (Verdict.WARN, "set in vain")
    assert "ASCEND_AGENT_SHARE: no option" in warning.detail


async def test_a_file_that_is_not_there_fails(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"kubeconfig": tmp_path / "none", "host_root": tmp_path / "h"})

    findings = await CHECK.look(where)

    assert [(one.verdict, one.what) for one in findings[:2]] == [(Verdict.FAIL, "file missing")] * 2
    assert "--kubeconfig" in findings[0].detail


async def test_whose_options_these_are_is_said(tmp_path: Path) -> None:
    first, _ = await CHECK.look(place(tmp_path, adopted_from=7))

    assert (first.what, first.detail) == (
        "options of the running agent",
        "taken over from process 7",
    )


def test_every_setting_has_a_value_and_an_origin() -> None:
    settings = Settings.model_validate({"shares": "4", "device_plugin_dir": "/p"})

    table = effective(settings, {"shares": "--shares", "device_plugin_dir": "--device-plugin-dir"})

    assert set(table) == set(Settings.model_fields)
    assert table["shares"] == {"value": 4, "origin": "--shares"}
    assert table["kubelet_socket"] == {"value": "/p/kubelet.sock", "origin": "derived"}
    assert table["failed_rounds"]["origin"] == "default"


def test_what_the_doctor_sets_for_itself_is_not_shown_as_the_agents() -> None:
    """It logs less than the agent does, for those who look at its findings."""
    settings = Settings.model_validate({"log_level": "critical"})

    assert effective(settings, {})["log_level"] == {"value": "info", "origin": "default"}
    given = effective(settings, {"log_level": "--log-level"})
    assert given["log_level"] == {"value": "critical", "origin": "--log-level"}
