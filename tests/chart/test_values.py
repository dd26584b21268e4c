"""Values, schema and README say the same as the agent's own options."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ascend_agent.cli.options import OPTIONS, Command
from ascend_agent.settings import Settings, SimulatedNode
from tools.chart.places import CHART, README, SCHEMA, VALUES, value_name
from tools.chart.readme import takes
from tools.chart.schema import NO_VALUES, document, settings
from tools.chart.values import values
from tools.docs.__main__ import rendered

DEFAULTS = yaml.safe_load(VALUES.read_text())
RUN = {option.name: option for option in OPTIONS if Command.RUN in option.commands}
BY_LAYOUT = {"kubeletDir", "devicePluginDir"}
BY_PLACE = {"dialect"}
ON_IN_PODS = {"http": "probes need it"}


@pytest.mark.parametrize("file", [README, SCHEMA], ids=lambda file: file.name)
def test_what_is_generated_is_of_today(file: Path) -> None:
    assert file.read_text() == rendered(file), "run `python -m tools.docs`"


def test_every_option_of_run_has_a_value_or_a_reason_to_have_none() -> None:
    """An option that is added must not be forgotten here (CF-1)."""
    named = {value_name(name) for name in RUN if name not in NO_VALUES}

    assert named - set(DEFAULTS["settings"]) == set()
    assert set(NO_VALUES) <= set(RUN)


def test_no_value_names_a_setting_that_does_not_exist() -> None:
    named = {value_name(name) for name in RUN if name not in NO_VALUES}

    assert set(DEFAULTS["settings"]) - named == {"dockerRuntime"}  # a variable of the runtime's


@pytest.mark.parametrize("name", sorted(RUN))
def test_a_default_of_the_chart_is_the_agents(name: str) -> None:
    """Who reads values.yaml must not be told another default than who reads --help."""
    value = value_name(name)
    if name in NO_VALUES or value in BY_LAYOUT | BY_PLACE | {"scenario", *ON_IN_PODS}:
        return
    known = Settings().model_dump(mode="json") | SimulatedNode().model_dump(mode="json")

    assert DEFAULTS["settings"][value] == known[RUN[name].sets]


def test_a_range_is_the_settings_own() -> None:
    assert settings()["rescanInterval"] == {"type": "number", "minimum": 10, "maximum": 86400}
    assert settings()["inject"]["enum"] == ["runtime", "devices", "cdi", "auto"]


def test_nothing_is_accepted_that_has_no_name() -> None:
    """A misspelt value must not be ignored; maps of names and Kubernetes' own types are open."""
    open_objects = {
        where
        for where, schema in _objects(document(), "")
        if schema.get("additionalProperties") is not False
    }

    assert open_objects == {
        "affinity.nodeAffinity",
        "affinity.podAffinity",
        "affinity.podAntiAffinity",
        "extraEnv[].valueFrom",
        "global",
        "grafanaDashboard.annotations",
        "grafanaDashboard.labels",
        "nodeSelector",
        "podAnnotations",
        "podLabels",
        "podMonitor.labels",
        "prometheusRule.labels",
        "resources.limits",
        "resources.requests",
        "service.annotations",
        "serviceAccount.annotations",
        "settings.scenario.expect[]",
        "settings.scenario.pods[]",
        "settings.scenario.steps[]",
    }


def _objects(schema: dict[str, Any], where: str) -> list[tuple[str, dict[str, Any]]]:
    found = [(where.lstrip("."), schema)] if schema.get("type") == "object" else []
    for name, part in schema.get("properties", {}).items():
        found += _objects(part, f"{where}.{name}")
    if "items" in schema:
        found += _objects(schema["items"], f"{where}[]")
    return found


def test_every_layout_of_the_schema_is_one_that_the_templates_know() -> None:
    template = (CHART / "templates" / "_layout.tpl").read_text()
    known = re.findall(r"^([a-z0-9-]+): \{kubeletDir", template, re.MULTILINE)

    assert sorted(known) == sorted(
        json.loads(SCHEMA.read_text())["properties"]["kubeletLayout"]["enum"]
    )


def test_a_value_without_a_comment_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("# A section.\none:\n  # Said.\n  a: 1\n  b: 2\n")

    with pytest.raises(ValueError, match=r"one\.b has no comment"):
        values(file)


def test_a_comment_of_several_lines_is_one_meaning(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("# About the file.\n\n# It does\n# this.\none: {a: 1}\n")

    (value,) = values(file)

    assert (value.path, value.default, value.meaning) == ("one", {"a": 1}, "It does this.")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 100}, "whole number, 1 to 100"),
        ({"type": "integer", "minimum": 0}, "whole number, at least 0"),
        ({"type": "string", "enum": ["a", "b"]}, "`a`, `b`"),
        ({"anyOf": [{"type": "string", "pattern": "^(/x)$"}, {"type": "null"}]}, "path or null"),
    ],
)
def test_a_schema_is_told_in_words(schema: dict[str, Any], words: str) -> None:
    assert takes(schema) == words


def test_a_schema_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="no words"):
        takes({})
