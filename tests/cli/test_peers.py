"""The options of the two older plugins: translated, retired with a word, or refused."""

import pytest

from ascend_agent.cli.peers import (
    MEANINGS,
    SWITCHES,
    NotBuilt,
    PeerValue,
    Retired,
    Translated,
    split,
    translate,
    wants_version,
)


def translated(*argv: str) -> Translated:
    rest, values, problems = split(argv)
    assert (rest, problems) == ([], [])
    return translate(values)


def given(*argv: str) -> dict[str, str]:
    result = translated(*argv)
    assert result.problems == []
    return {sets: value for sets, value, _ in result.given}


@pytest.mark.parametrize(
    ("argv", "name", "value"),
    [
        (["-logLevel=0"], "logLevel", "0"),
        (["--logLevel=0"], "logLevel", "0"),
        (["-logLevel", "0"], "logLevel", "0"),
        (["--hotReset", "-1"], "hotReset", "-1"),
        (["-volcanoType"], "volcanoType", "true"),
        (["--volcanoType=F"], "volcanoType", "F"),
        (["-logFile="], "logFile", ""),
        (["--config_file", "/a=b"], "config_file", "/a=b"),
        (["-v=4"], "v", "4"),
    ],
)
def test_gos_flag_syntax_is_understood(argv: list[str], name: str, value: str) -> None:
    rest, values, problems = split(argv)

    assert (rest, problems) == ([], [])
    assert [(found.name, found.value) for found in values] == [(name, value)]


def test_a_switch_never_takes_the_next_word() -> None:
    """In Go ``-x false`` switches x on and stops reading; we leave the word to be refused."""
    rest, values, _ = split(["-volcanoType", "false", "--shares", "2"])

    assert rest == ["false", "--shares", "2"]
    assert [found.value for found in values] == ["true"]


def test_what_is_not_theirs_stays_in_place() -> None:
    rest, values, _ = split(["run", "--shares", "2", "-logLevel=0", "--cdi-dir=/x"])

    assert rest == ["run", "--shares", "2", "--cdi-dir=/x"]
    assert values == [PeerValue("logLevel", "-logLevel", "0")]


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["-logLevel"], "-logLevel has no value; write -logLevel=VALUE"),
        (
            ["--volcanoType=perhaps"],
            "--volcanoType: 'perhaps' is neither true nor false; give one of them",
        ),
    ],
)
def test_a_broken_form_is_told(argv: list[str], problem: str) -> None:
    assert split(argv)[2] == [problem]


@pytest.mark.parametrize(
    ("argv", "settings"),
    [
        (["-logLevel=-1"], {"log_level": "debug"}),
        (["-logLevel=0"], {"log_level": "info"}),
        (["-logLevel=1"], {"log_level": "warning"}),
        (["-logLevel=2"], {"log_level": "error"}),
        (["-logLevel=3"], {"log_level": "critical"}),
        (["--hw_loglevel=2"], {"log_level": "error"}),
        (["--v=0"], {"log_level": "info"}),
        (["--v=3"], {"log_level": "info"}),
        (["--v=4"], {"log_level": "debug"}),
        (["--shareDevCount", "100"], {"shares": "100"}),
        (["--shareDevCount=1"], {"shares": "1"}),
        (["-deviceResetTimeout=600"], {"device_reset_timeout_s": "600"}),
        (["-listWatchPeriod=3"], {"health_interval_s": "3"}),
        (["--node_name=n1"], {"node_name": "n1"}),
        (["--config_file=/device-config.yaml"], {"device_config": "/device-config.yaml"}),
        (["--node_config_file", "/n.yaml"], {"node_config": "/n.yaml"}),
        (["--node_config_file="], {}),
        (["--check_idle_vnpu_interval=60"], {"vnpu_sweep_interval_s": "60"}),
        (["--report_time_offset=1"], {"hami_report_offset_s": "1"}),
        (["--report_time_offset=-5"], {"hami_report_offset_s": "-5"}),
        (["--enable-healthz=true"], {"http": ":11251"}),
        (["--enable-healthz", "--healthz-address=8080"], {"http": ":8080"}),
        (["--healthz-address", "8080", "--enable-healthz=1"], {"http": ":8080"}),
        (["--enable-healthz=false"], {}),
    ],
)
def test_what_means_the_same_is_translated(argv: list[str], settings: dict[str, str]) -> None:
    assert given(*argv) == settings


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["-logLevel=4"], "-logLevel: '4' is not allowed; give -1, 0, 1, 2 or 3"),
        (["-logLevel=info"], "-logLevel: 'info' is not allowed; give -1, 0, 1, 2 or 3"),
        (["-shareDevCount=0"], "-shareDevCount: '0' is not allowed; give 1 to 100"),
        (["-shareDevCount=101"], "-shareDevCount: '101' is not allowed; give 1 to 100"),
        (["-deviceResetTimeout=601"], "-deviceResetTimeout: '601' is not allowed; give 10 to 600"),
        (["-deviceResetTimeout=9"], "-deviceResetTimeout: '9' is not allowed; give 10 to 600"),
        (["-listWatchPeriod=2"], "-listWatchPeriod: '2' is not allowed; give 3 to 1800"),
        (
            ["--check_idle_vnpu_interval=4"],
            "--check_idle_vnpu_interval: '4' is not allowed; give 5 to 86400",
        ),
        (
            ["--report_time_offset=61"],
            "--report_time_offset: '61' is not allowed; give -60 to 60",
        ),
        (
            ["--report_time_offset=soon"],
            "--report_time_offset: 'soon' is not allowed; give -60 to 60",
        ),
        (["--v=-1"], "--v: '-1' is not allowed; give 0 to 99"),
        (["--node_name="], "--node_name: '' is not allowed; give the name of this node"),
        (["--healthz-address=1024"], "--healthz-address: '1024' is no port; give 1025 to 65535"),
        (
            ["--healthz-address=127.0.0.1:80"],
            "--healthz-address: '127.0.0.1:80' is no port; give 1025 to 65535",
        ),
    ],
)
def test_a_value_outside_the_peers_own_range_is_refused(argv: list[str], problem: str) -> None:
    assert translated(*argv).problems == [problem]


@pytest.mark.parametrize("option", ["logLevel", "hotReset", "healthz-address", "volcanoType"])
def test_a_long_value_is_cut_where_it_is_told(option: str) -> None:
    _, found, problems = split([f"-{option}={'x' * 1000}"])
    (problem,) = problems or translate(found).problems

    assert "x" * 80 in problem
    assert "x" * 81 not in problem


@pytest.mark.parametrize(
    "argv",
    [
        ["-volcanoType=true"],
        ["-volcanoType"],
        ["-hotReset=0"],
        ["-hotReset=2"],
        ["-presetVirtualDevice=false"],
        ["-use310PMixedInsert=true"],
        ["-softShareDevConfigDir=/etc/enpu"],
        ["-getPodFromKubelet=true"],
        ["-useSingleDieMode"],
        ["-enableSlowNode=T"],
        ["-fdFlag=true"],
        ["--tls-cert-file=/c"],
        ["--tls-private-key-file=/k"],
    ],
)
def test_what_is_not_built_yet_is_refused_and_says_so(argv: list[str]) -> None:
    """Ignoring it would hand out wrong devices, or serve a secret page in the clear."""
    (problem,) = translated(*argv).problems

    assert problem.startswith(argv[0].partition("=")[0])
    assert "is not built yet" in problem
    assert "remove the option or keep the older plugin" in problem


@pytest.mark.parametrize(
    "argv",
    [
        ["-volcanoType=false"],
        ["-hotReset=-1"],
        ["-presetVirtualDevice=true"],
        ["-use310PMixedInsert=false"],
        ["-softShareDevConfigDir="],
        ["-getPodFromKubelet=false"],
        ["-useSingleDieMode=0"],
        ["-enableSlowNode=F"],
        ["-fdFlag=false"],
        ["--config_file="],
    ],
)
def test_a_default_that_asks_for_nothing_is_accepted_in_silence(argv: list[str]) -> None:
    """Shipped manifests spell defaults out."""
    assert translated(*argv) == Translated()


@pytest.mark.parametrize(
    "name", [name for name, meaning in MEANINGS.items() if isinstance(meaning, Retired)]
)
def test_a_retired_option_warns_whatever_its_value(name: str) -> None:
    result = translated(f"-{name}={'false' if name in SWITCHES else 'anything'}")

    assert result.problems == []
    assert [warned for warned, _ in result.warnings] == [f"-{name}"]


def test_a_port_without_the_switch_warns() -> None:
    assert translated("--healthz-address=11251").warnings == [
        ("--healthz-address", "it needs --enable-healthz=true")
    ]


def test_of_a_repeated_option_the_last_one_counts() -> None:
    """As in Go."""
    assert given("-shareDevCount=2", "--shareDevCount=3") == {"shares": "3"}


def test_the_arguments_of_the_shipped_daemon_set_are_accepted() -> None:
    """MindCluster's plain manifest."""
    result = translated(
        "-logFile=/var/log/mindx-dl/devicePlugin/devicePlugin.log",
        "-logLevel=0",
        "--enable-healthz=true",
        "--healthz-address=11251",
    )

    assert result.problems == []
    assert [(sets, value) for sets, value, _ in result.given] == [
        ("log_level", "info"),
        ("http", ":11251"),
    ]


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (["-version"], True),
        (["--version=true"], True),
        (["--version=false"], False),
        (["-logLevel=0"], False),
    ],
)
def test_the_version_can_be_asked_for_as_in_go(argv: list[str], *, wanted: bool) -> None:
    assert wants_version(split(argv)[1]) is wanted


def test_a_switch_has_a_meaning() -> None:
    assert set(MEANINGS) >= SWITCHES


def test_a_harmless_value_of_a_switch_is_true_or_false() -> None:
    for name, meaning in MEANINGS.items():
        if isinstance(meaning, NotBuilt):
            assert (name in SWITCHES) == bool(meaning.harmless & {"true", "false"})


@pytest.mark.parametrize(
    ("argv", "implied"),
    [
        (["--config_file=/d.yaml"], [("dialect", "hami", "--config_file")]),
        (["--config_file="], []),
        (["--node_config_file=/n.yaml"], []),
    ],
)
def test_hamis_plugin_is_told_by_the_option_it_can_not_start_without(
    argv: list[str], implied: list[tuple[str, str, str]]
) -> None:
    assert translated(*argv).implied == implied
