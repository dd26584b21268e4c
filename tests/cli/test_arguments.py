"""argv and environment: what was given, by which name, and what was given in vain."""

import pytest

from ascend_agent.cli.arguments import Arguments, Given, UsageError, option_of, parse
from ascend_agent.cli.options import Command


def values(argv: str, **environment: str) -> dict[str, str]:
    result = parse(argv.split(), environment)
    assert result.problems == []
    return {sets: one.value for sets, one in result.given.items()}


def problems(argv: str, **environment: str) -> list[str]:
    return parse(argv.split(), environment).problems


@pytest.mark.parametrize("command", ["run", "sim", "devices"])
def test_a_command_alone_gives_nothing(command: str) -> None:
    assert parse([command], {}) == Arguments(Command(command))


def test_a_value_stands_behind_an_equals_sign_or_a_space() -> None:
    assert values("run --shares=2 --log-level debug") == {"shares": "2", "log_level": "debug"}


def test_a_negative_number_is_a_value() -> None:
    """It is refused later, by its range, and not as an unknown option."""
    assert values("run --shares -5") == {"shares": "-5"}


def test_a_switch_may_carry_its_value() -> None:
    assert values("devices --json") == {"as_json": "true"}
    assert values("devices --json=false") == {"as_json": "false"}


def test_a_variable_sets_what_its_option_sets() -> None:
    assert values("run", ASCEND_AGENT_DEVICE_PLUGIN_DIR="/p") == {"device_plugin_dir": "/p"}


def test_the_flag_wins_over_the_variable() -> None:
    result = parse(["run", "--shares=2"], {"ASCEND_AGENT_SHARES": "3"})

    assert result.given == {"shares": Given("2", "--shares")}
    assert result.problems == []


def test_an_older_plugins_option_wins_over_the_variable_too() -> None:
    assert values("run -shareDevCount=2", ASCEND_AGENT_SHARES="3") == {"shares": "2"}


def test_a_variable_of_another_command_is_neither_used_nor_told() -> None:
    """One environment serves all commands of a pod."""
    result = parse(["devices"], {"ASCEND_AGENT_SHARES": "3"})

    assert (result.given, result.warnings) == ({}, [])


def test_an_unknown_variable_is_told_with_the_nearest_name() -> None:
    result = parse(["run"], {"ASCEND_AGENT_SHARE": "3"})

    assert result.warnings == [
        ("ASCEND_AGENT_SHARE", "no option has this name; did you mean ASCEND_AGENT_SHARES")
    ]


@pytest.mark.parametrize(
    "name",
    [
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_HTTP",
        "PORT",
        "PORT_9100_TCP",
        "PORT_9100_TCP_ADDR",
        "METRICS_SERVICE_HOST",
        "METRICS_PORT_80_TCP_PROTO",
    ],
)
def test_what_kubernetes_sets_for_a_service_is_not_told(name: str) -> None:
    assert parse(["run"], {f"ASCEND_AGENT_{name}": "x"}).warnings == []


def test_the_node_name_comes_from_the_downward_variable_unless_given() -> None:
    """Both older plugins read NODE_NAME."""
    assert values("run", NODE_NAME="n1") == {"node_name": "n1"}
    assert values("run", NODE_NAME="") == {}
    assert values("run --node-name n2", NODE_NAME="n1") == {"node_name": "n2"}
    assert values("run", NODE_NAME="n1", ASCEND_AGENT_NODE_NAME="n3") == {"node_name": "n3"}
    assert values("devices", NODE_NAME="n1") == {}


@pytest.mark.parametrize(
    ("host", "port", "address"),
    [
        ("10.96.0.1", "443", {"api_server": "https://10.96.0.1:443"}),
        ("fd00::1", "6443", {"api_server": "https://[fd00::1]:6443"}),
        ("10.96.0.1", "", {}),
        ("", "443", {}),
    ],
)
def test_the_api_server_is_the_one_every_pod_is_told(
    host: str, port: str, address: dict[str, str]
) -> None:
    told = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    assert values("run", **told) == address
    assert values("devices", **told) == {}


@pytest.mark.parametrize(("value", "given"), [("True", True), ("true", False), ("", False)])
def test_the_container_runtime_is_announced_by_exactly_true(value: str, *, given: bool) -> None:
    """The older plugin compares the text."""
    assert ("docker_runtime" in values("run", ASCEND_DOCKER_RUNTIME=value)) is given


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ("run --library", "--library has no value; write --library=VALUE"),
        ("run --bogus", "--bogus is no option of run"),
        ("run --bogus=3", "--bogus is no option of run"),
        ("run --share 3", "--share is no option of run; did you mean --shares; see --help"),
        ("run -logLevl=3", "-logLevl is no option of run; did you mean --logLevel; see --help"),
        ("run 3", "'3' is no option; remove it (values of options stand behind =)"),
        (
            "sim --library=/x",
            "--library is no option of sim, but of devices, doctor, run; remove it",
        ),
        # The simulated node has a file of its own, in which its operator turns it to soft slices.
        (
            "sim --dialect hami --node-config n.yaml",
            "--node-config is no option of sim, but of doctor, run; remove it",
        ),
        ("run --for 3", "--for is no option of run, but of sim; remove it"),
        ("sim -logLevel=3", "-logLevel belongs to run; remove it from sim"),
        (
            "run --shares=2 --shares=3",
            "--shares=2 and --shares=3 contradict each other; keep one",
        ),
        (
            "run --shares=2 -shareDevCount=3",
            "-shareDevCount=3 and --shares=2 contradict each other; keep one",
        ),
        (
            "run --http :80 --enable-healthz",
            "--enable-healthz=:11251 and --http=:80 contradict each other; keep one",
        ),
        (
            "run --log-level=info -logLevel=3",
            "-logLevel=critical and --log-level=info contradict each other; keep one",
        ),
    ],
)
def test_a_wrong_option_is_named_with_its_remedy(argv: str, problem: str) -> None:
    (found,) = problems(argv)

    assert found.startswith(problem)


@pytest.mark.parametrize(
    "argv", [f"run --{'x' * 1000}", f"run {'x' * 1000}", f"run --run-dir=/a --run-dir={'x' * 1000}"]
)
def test_a_long_word_is_cut_where_it_is_told(argv: str) -> None:
    (found,) = problems(argv)

    assert "x" * 78 in found
    assert "x" * 81 not in found


def test_everything_wrong_is_told_at_once() -> None:
    found = problems("run y --bogus --library --shares=1 --shares=2 -hotReset=0 --volcanoType=x")

    assert len(found) == 6


def test_the_value_of_an_unknown_option_is_no_problem_of_its_own() -> None:
    assert len(problems("run --bogus 3")) == 1


def test_saying_the_same_twice_is_no_contradiction() -> None:
    assert values("run --shares=2 --shares=2 -shareDevCount=2") == {"shares": "2"}


def test_the_younger_plugins_two_log_levels_are_one_here() -> None:
    """They speak of two loggers, so they can't contradict each other; more is shown."""
    assert values("run --hw_loglevel=0 -v=4") == {"log_level": "debug"}
    assert values("run -v=4 --hw_loglevel=2") == {"log_level": "debug"}


@pytest.mark.parametrize("argv", ["--version", "-version", "run --version", "run --bogus -version"])
def test_the_version_is_printed_whatever_else_is_said(argv: str) -> None:
    assert parse(argv.split(), {}) == Arguments(Command.VERSION)


@pytest.mark.parametrize(("argv", "text"), [("", "no command; say one of run"), ("fly", "'fly'")])
def test_without_a_command_nothing_can_be_judged(argv: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        parse(argv.split(), {})


def test_the_option_of_a_setting_is_found() -> None:
    option = option_of("driver_grace_s")

    assert option is not None
    assert option.flag == "--driver-grace"
    assert option_of("docker_runtime") is None


def test_hamis_plugin_is_replaced_with_its_options_and_variables() -> None:
    """Its manifest stays as it is: the option that it can't start without names the dialect."""
    found = values(
        "run --config_file=/device-config.yaml --check_idle_vnpu_interval=60",
        NODE_NAME="n1",
        HOOK_PATH="/hook",
        HAMI_VNPU_ASSETS_PATH="/assets",
    )

    assert found == {
        "dialect": "hami",
        "device_config": "/device-config.yaml",
        "vnpu_sweep_interval_s": "60",
        "node_name": "n1",
        "hami_root": "/hook",
        "hami_assets": "/assets",
    }


def test_who_names_a_dialect_has_that_one() -> None:
    assert values("run --config_file=/d.yaml --dialect=plain")["dialect"] == "plain"
    given = values("run --config_file=/d.yaml", ASCEND_AGENT_DIALECT="plain")
    assert given["dialect"] == "plain"


def test_hamis_variables_are_hamis_alone() -> None:
    """Names as HOOK_PATH may mean anything elsewhere; options win over them."""
    assert values("run", HOOK_PATH="/hook") == {}
    assert values("sim --dialect=hami", HOOK_PATH="/hook") == {"dialect": "hami"}
    found = values("run --dialect=hami --hami-root=/own", HOOK_PATH="/hook")
    assert found == {"dialect": "hami", "hami_root": "/own"}


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"ASCEND_AGENT_HAMI_ROOT": "/own", "HOOK_PATH": "/hook"}, ["HOOK_PATH"]),
        ({"ASCEND_AGENT_HAMI_ROOT": "/hook", "HOOK_PATH": "/hook"}, []),
        ({"HOOK_PATH": "/hook"}, []),
    ],
)
def test_a_variable_of_hamis_beside_an_option_is_told_where_it_says_otherwise(
    variables: dict[str, str], told: list[str]
) -> None:
    """As a plugin's variables that were taken over into the chart, which gives every option."""
    result = parse(["run", "--dialect=hami"], variables)

    assert [name for name, _ in result.warnings] == told
    assert all("ASCEND_AGENT_HAMI_ROOT" in why for _, why in result.warnings)


def test_the_doctor_takes_what_run_takes() -> None:
    """It judges the settings of run, those of the older plugins included."""
    run = values("run -shareDevCount=2 --inject cdi", NODE_NAME="n1", ASCEND_DOCKER_RUNTIME="True")

    assert (
        values("doctor -shareDevCount=2 --inject cdi", NODE_NAME="n1", ASCEND_DOCKER_RUNTIME="True")
        == run
    )


def test_faults_takes_words_before_and_behind_its_options() -> None:
    """A bare switch would else swallow the word behind it."""
    result = parse(["faults", "1", "--json", "2", "--fault-config-dir", "/d", "[0x1,2,3,4]"], {})

    assert result.problems == []
    assert result.words == ("1", "2", "[0x1,2,3,4]")
    assert {sets: one.value for sets, one in result.given.items()} == {
        "as_json": "true",
        "fault_config_dir": "/d",
    }


def test_faults_still_refuses_an_unknown_option() -> None:
    result = parse(["faults", "--jsn", "80E18005"], {})

    assert "--jsn is no option of faults; did you mean --json" in result.problems[0]
    assert parse(["devices", "80E18005"], {}).problems
