"""Alerts and dashboard ask only for metrics that exist, with labels that these have."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.house.sources import ROOT
from tools.chart.places import CHART

ALERTS = CHART / "files" / "alerts.yaml"
DASHBOARD = CHART / "files" / "dashboard.json"
METRICS = ROOT / "docs" / "metrics.md"
BY_SCRAPER = {"instance", "node", "job", "le"}
_METRIC = re.compile(r"\b(?:ascend_agent|hami|process)_[a-z_]+")


def known_metrics() -> Mapping[str, set[str]]:
    """Return the labels of each series that docs/metrics.md names, by the series' name."""
    found: dict[str, set[str]] = {"process_resident_memory_bytes": set()}
    row = re.compile(r"^\| `((?:ascend_agent|hami)_\w+)` \| (\w+) \| (.*?) \|", re.MULTILINE)
    for name, kind, labels in row.findall(METRICS.read_text()):
        for suffix in ("_bucket", "_sum", "_count") if kind == "histogram" else ("",):
            found[name + suffix] = set(re.findall(r"`(\w+)`", labels))
    return found


def rules() -> list[dict[str, Any]]:
    return [
        rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]
    ]


def queries() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def used_labels(query: str) -> set[str]:
    selected = re.findall(r"[{,]\s*(\w+)\s*(?:=~|!=|!~|=)", query)
    grouped = re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", query)
    return set(selected) | {name.strip() for names in grouped for name in names.split(",")}


@pytest.mark.parametrize("query", [*(rule["expr"] for rule in rules()), *queries()])
def test_a_query_asks_for_series_that_exist(query: str) -> None:
    """A dashboard of an older version must not stay empty unnoticed."""
    known, asked = known_metrics(), set(_METRIC.findall(query))

    assert asked
    assert asked <= set(known)
    assert used_labels(query) <= set.union(BY_SCRAPER, *(known[name] for name in asked))


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_shows_only_labels_that_its_series_has(rule: dict[str, Any]) -> None:
    known, asked = known_metrics(), set(_METRIC.findall(rule["expr"]))
    shown = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))

    assert shown <= set.union(BY_SCRAPER, *(known[name] for name in asked))
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in {"warning", "critical"}


def test_the_alerts_are_those_of_the_document() -> None:
    _, _, table = METRICS.read_text().partition("## Worth an alert")
    documented = re.findall(r"^\| [^|`]+ \| `(.+)` \|$", table, re.MULTILINE)

    asked = [" ".join(rule["expr"].split()) for rule in rules()]
    assert asked == [query.replace("\\|", "|") for query in documented]


def test_every_panel_of_the_dashboard_has_its_own_place_and_number() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(taken) == len(set(taken))
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_the_files_are_beside_the_templates() -> None:
    """Helm's ``.Files.Get`` of a file that is not there is empty and no error."""
    for name in ("prometheusrule.yaml", "dashboard.yaml"):
        template = (CHART / "templates" / name).read_text()
        (path,) = re.findall(r'\.Files\.Get "([^"]+)"', template)

        assert Path(CHART / path).is_file()
