"""What was given becomes settings, and what is wrong is told by the name its user knows."""

from pathlib import Path

import pytest

from ascend_agent.cli.arguments import parse
from ascend_agent.cli.compose import Show, compose, without_effect
from ascend_agent.errors import ConfigError
from ascend_agent.settings import DriverKind, FaultStep, LogLevel, LogStyle, Settings


def composed(argv: str, **environment: str) -> tuple[Settings, Show]:
    return compose(parse(argv.split(), environment))


def refusals(argv: str, **environment: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        composed(argv, **environment)
    return str(caught.value).splitlines()


def test_run_without_options_is_the_default_agent() -> None:
    assert composed("run") == (Settings(), Show(for_s=None, as_json=False, has_scenario=False))


def test_options_of_all_sources_meet_in_the_settings() -> None:
    settings, _ = composed(
        "run --driver simulated --chip=910C -shareDevCount=4",
        ASCEND_AGENT_NPUS="4",
        NODE_NAME="n1",
        ASCEND_DOCKER_RUNTIME="True",
    )

    assert settings.driver is DriverKind.SIMULATED
    assert (settings.simulated.chip, settings.simulated.count) == ("910C", 4)
    assert (settings.shares, settings.node_name, settings.docker_runtime) == (4, "n1", True)


def test_hami_without_a_name_of_the_node_is_refused_and_a_simulated_node_has_one() -> None:
    """The scheduler asks for devices by the name of the node."""
    (refusal,) = refusals("run --dialect hami")
    assert refusal.startswith("--node-name is not given")
    assert "NODE_NAME" in refusal

    assert composed("sim --dialect hami")[0].node_name == "simulated"
    assert composed("run --dialect hami", NODE_NAME="n1")[0].node_name == "n1"


def test_shares_are_not_hamis_word(tmp_path: Path) -> None:
    (refusal,) = refusals(f"run --config_file {tmp_path} -shareDevCount=4", NODE_NAME="n1")

    assert refusal.startswith("-shareDevCount has no meaning with --dialect hami")
    assert "vDeviceCount" in refusal
    assert composed("run --dialect hami -shareDevCount=1", NODE_NAME="n1")[0].shares == 1


def test_sim_is_simulated_and_quiet() -> None:
    """Its faults are deliberate; a log of them would only disturb the view."""
    _, longest = composed("sim --for 604800")
    _, shortest = composed("sim --for 0.5")
    assert (longest.for_s, shortest.for_s) == (604800, 0.5)

    settings, show = composed("sim --for 2.5 --json")

    assert settings.driver is DriverKind.SIMULATED
    assert (settings.log_level, settings.log_style) == (LogLevel.CRITICAL, LogStyle.CONSOLE)
    assert (show.for_s, show.as_json, show.has_scenario) == (2.5, True, False)


def test_sim_logs_when_asked() -> None:
    assert composed("sim --log-level=debug")[0].log_level is LogLevel.DEBUG


def test_a_scenario_file_fills_the_node_and_flags_win_over_it(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("{chip: 910A, npus: 4, seed: 3, steps: [{at_s: 1, npu: 0, fault: A}]}")

    settings, show = composed(f"sim --scenario {path} --npus=2")

    node = settings.simulated
    assert (node.chip, node.count, node.seed) == ("910A", 2, 3)
    assert node.steps == (FaultStep(at_s=1, npu=0, fault=10),)
    assert show.has_scenario


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ("run --shares 200", "--shares: '200' is too large; give 100 or less"),
        ("run --driver gpu", "--driver: 'gpu' is not allowed; use one of 'dcmi', 'simulated'"),
        ("run --chip 910C", "--chip belongs to --driver simulated; add that or remove it"),
        (
            "run --driver simulated --library /x",
            "--library has no meaning with --driver simulated; remove one of the two",
        ),
        ("sim --npus 65", "--npus: 65 is more than a node of 910B3 can hold; give 0 to 64"),
        ("sim --chip 999", "--chip: '999' is no chip we simulate; use one of 310, 310B4"),
        ("sim --for 0", "--for: '0' is no time; give seconds, more than 0, up to a week"),
        ("sim --for 604801", "--for: '604801' is no time"),
        (f"sim --for {'x' * 100}", f"--for: '{'x' * 80}' is no time"),
        (f"sim --json={'x' * 100}", f"--json: '{'x' * 80}' is neither true nor false"),
        ("sim --for nan", "--for: 'nan' is no time"),
        ("sim --for inf", "--for: 'inf' is no time"),
        ("sim --json=perhaps", "--json: 'perhaps' is neither true nor false; give one of them"),
        (
            "sim --scenario /nowhere/s.yaml",
            "scenario /nowhere/s.yaml: can't be read (No such file or directory)",
        ),
        ("run --kubelet-dir=/" + "k" * 100, "--pod-resources-socket: /k"),
    ],
)
def test_a_bad_value_is_told_under_the_name_it_was_given_by(argv: str, line: str) -> None:
    (found,) = refusals(argv)

    assert found.startswith(line)


def test_a_bad_variable_is_told_as_a_variable() -> None:
    assert refusals("run", ASCEND_AGENT_SHARES="0") == [
        "ASCEND_AGENT_SHARES: '0' is too small; give 1 or more"
    ]
    assert refusals("run", NODE_NAME="A_B")[0].startswith("NODE_NAME: 'A_B' is no node name")


def test_every_violation_of_every_source_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("{chip: 999, steps: [{at_s: 1}]}")

    found = refusals(f"sim --scenario {path} --for x --bogus", ASCEND_AGENT_SHARES="0")

    assert [line.split(":")[0].split(" is no")[0] for line in found] == [
        "--bogus",
        "--for",
        f"scenario {path}, chip",
        f"scenario {path}, step 1",
        "ASCEND_AGENT_SHARES",
    ]


def test_the_doctor_is_told_by_which_name_each_setting_was_given() -> None:
    """It says whose word a setting is (CF-1)."""
    _, show = composed("doctor --shares=2 -shareDevCount=2", NODE_NAME="n1")

    assert show.origins["node_name"] == "NODE_NAME"
    assert "hareDevCount" in show.origins["shares"]


def test_the_doctor_gives_a_check_as_long_as_it_was_told() -> None:
    assert composed("doctor")[1].check_deadline_s == 15
    assert composed("doctor --check-deadline 0.5")[1].check_deadline_s == 0.5
    assert refusals("doctor --check-deadline 3601") == [
        "--check-deadline: '3601' is no time; give seconds, more than 0, up to an hour"
    ]


def test_a_scenario_is_checked_when_asked_and_brings_its_rules(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("{fault_config_dir: rules, expect: [{at_s: 1, npu: 0, codes: []}]}")

    settings, show = composed(f"sim --check --scenario {path}")
    other, _ = composed(f"sim --scenario {path} --fault-config-dir /etc/rules")

    assert show.check
    assert settings.fault_config_dir == tmp_path / "rules"
    assert other.fault_config_dir == Path("/etc/rules")


@pytest.mark.parametrize(
    ("argv", "sets"),
    [
        ("faults --fault-config-dir", "fault_config_dir"),
        ("sim --fault-config-dir", "fault_config_dir"),
        ("sim --hang-config", "hang_config"),
        ("sim --device-config", "device_config"),
    ],
)
def test_people_may_name_files_as_seen_from_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: str, sets: str
) -> None:
    """As a scenario's file, and as the shell completes it."""
    monkeypatch.chdir(tmp_path)

    assert getattr(composed(f"{argv} rules")[0], sets) == tmp_path / "rules"


@pytest.mark.parametrize("command", ["run", "doctor"])
def test_a_service_has_no_place_to_see_files_from(command: str) -> None:
    (line,) = refusals(f"{command} --fault-config-dir rules")

    assert line == "--fault-config-dir: 'rules' is no absolute path; start it with /"


def test_pods_of_a_scenario_need_the_dialect_that_places_them(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    for text in ("{pods: [{at_s: 1, pod: a}]}", "{soft: true}"):
        path.write_text(text)

        assert refusals(f"sim --scenario {path}") == [
            "--scenario: has pods or soft, which are HAMi's; add --dialect hami"
        ]
    settings, _ = composed(f"sim --dialect hami --scenario {path}")
    assert settings.simulated.soft


def test_there_must_be_something_to_check_and_time_for_it(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("{npus: 1}")

    assert refusals("sim --check") == [
        "--check: there is nothing to check; give --scenario a file that has expect:"
    ]
    assert refusals(f"sim --check --for 3 --scenario {path}") == [
        "--check: lasts as long as the scenario does; remove --for",
        "--check: the scenario expects nothing; write expect: into its file",
    ]
    path.write_text("{npus: some}")
    assert len(refusals(f"sim --check --scenario {path}")) == 1


@pytest.mark.parametrize(
    ("argv", "environment", "named"),
    [
        ("run --hami-handshake=20", {}, ["--hami-handshake"]),
        ("run", {"ASCEND_AGENT_VNPU_SWEEP": "off"}, ["ASCEND_AGENT_VNPU_SWEEP"]),
        ("run --dialect=hami --hami-handshake=20 --node-name=n1", {}, []),
        ("run --dialect=hami --node-name=n1 --share-policy=pack", {}, ["--share-policy"]),
        ("run --dialect=hami --node-name=n1 --share-policy=spread", {}, []),
        ("run --dialect=hami --node-name=n1 --refuse-held=false", {}, ["--refuse-held"]),
        ("run --dialect=hami --node-name=n1 --refuse-held", {}, []),
        ("run --node-name=n1", {}, []),
    ],
)
def test_an_option_of_another_dialect_is_said_to_do_nothing(
    argv: str, environment: dict[str, str], named: list[str]
) -> None:
    """CF-1: a setting had no effect, and nobody was told."""
    arguments = parse(argv.split(), environment)
    settings, _ = compose(arguments)

    told = without_effect(settings, arguments)

    assert [name for name, _ in told] == named
    assert all("--dialect=hami" in why for _, why in told)
