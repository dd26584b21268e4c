"""The table of options holds together."""

import re
from pathlib import Path

import pytest

from ascend_agent.cli.arguments import _SERVICE_VARIABLE
from ascend_agent.cli.options import COMMANDS, OPTIONS, Command, Option
from ascend_agent.cli.peers import MEANINGS
from ascend_agent.settings import Settings, SimulatedNode

OF_A_COMMAND = {"scenario", "for_s", "as_json", "check_deadline_s", "check", "device_words"}
WITHOUT_OPTION = {"api_server", "simulated", "docker_runtime"}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_an_option_sets_something_that_exists(option: Option) -> None:
    fields = {*Settings.model_fields, *SimulatedNode.model_fields, *OF_A_COMMAND}

    assert option.sets in fields


def test_every_setting_has_an_option() -> None:
    """A setting nobody can set is noise."""
    set_by_options = {option.sets for option in OPTIONS}

    assert set(Settings.model_fields) - set_by_options == WITHOUT_OPTION


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_help_says_what_holds_where_nothing_is_given(option: Option) -> None:
    """People should not have to look for the document."""
    values = Settings().model_dump(mode="json") | SimulatedNode().model_dump(mode="json")
    value = values.get(option.sets)
    if option.sets in {"kubelet_socket", "pod_resources_socket"}:
        value = Path(str(value)).name  # the rest of the path follows from another option
    match value:
        case None | False:
            return
        case True:
            value = "true"
        case float():
            value = f"{value:g}"

    assert re.search(rf"\(default [^)]*{re.escape(str(value))}", option.help)


def test_no_two_options_share_a_name_or_a_setting() -> None:
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)
    assert len({option.sets for option in OPTIONS}) == len(OPTIONS)


def test_no_option_has_the_name_of_an_older_plugins_option() -> None:
    """Those are taken out of the command line first."""
    assert not {option.name for option in OPTIONS} & set(MEANINGS)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_no_variable_looks_like_one_that_kubernetes_sets(option: Option) -> None:
    """A Service called ascend-agent puts ASCEND_AGENT_PORT and others into every pod."""
    assert not _SERVICE_VARIABLE.fullmatch(option.variable.removeprefix("ASCEND_AGENT_"))


def test_a_variable_is_the_option_in_capitals() -> None:
    option = next(option for option in OPTIONS if option.name == "device-plugin-dir")

    assert option.variable == "ASCEND_AGENT_DEVICE_PLUGIN_DIR"


def test_every_command_is_described() -> None:
    assert set(COMMANDS) == set(Command)


def test_the_doctor_knows_every_option_of_run() -> None:
    """It takes over the command line of a running agent."""
    assert not [
        option.name
        for option in OPTIONS
        if Command.RUN in option.commands and Command.DOCTOR not in option.commands
    ]
