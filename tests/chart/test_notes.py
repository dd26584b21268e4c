"""What the notes tell people to type can be typed; what else they say is in ``test_helm.py``."""

import shlex
from pathlib import Path
from typing import Final

import pytest

from tests.chart.objects import SETS
from tools.chart.places import CHART
from tools.chart.render import NAMESPACE, RELEASE, run_helm

pytestmark = pytest.mark.cluster

_RESOURCES: Final = ("Ascend910", "Ascend310", "Ascend310P", "npu")


def notes(helm: Path, home: Path, name: str = "default") -> str:
    """Return the notes of an installation with a set of values."""
    how = ("--values", SETS[name].file, "--namespace", NAMESPACE, "--dry-run=client")
    return run_helm(helm, "install", RELEASE, CHART, *how, home=home).partition("NOTES:")[2]


def commands(text: str) -> list[list[str]]:
    """Return the commands in *text*, each as the words that a shell makes of it."""
    lines = [line.strip() for line in text.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("kubectl ")]


def test_a_shell_leaves_the_names_of_the_columns_as_they_are(helm: Path, tmp_path: Path) -> None:
    """Without quotes a shell takes the backslashes away, and kubectl shows <none> for all nodes."""
    ((columns,),) = [
        [word for word in words if word.startswith("custom-columns=")]
        for words in commands(notes(helm, tmp_path))
        if "nodes" in words
    ]

    paths = [column.partition(":")[2] for column in columns.split(",")]
    assert paths[1:] == [rf".status.allocatable.huawei\.com/{name}" for name in _RESOURCES]


@pytest.mark.parametrize("name", ["default", "simulated"])
def test_nobody_else_is_told_that_npus_are_refused(name: str, helm: Path, tmp_path: Path) -> None:
    assert "refused" not in notes(helm, tmp_path, name)


def test_simulated_npus_that_would_be_refused_come_with_the_remedy(
    helm: Path, tmp_path: Path
) -> None:
    """The container's device nodes would be looked for on a host that has none."""
    text = run_helm(
        helm,
        *("install", RELEASE, CHART, "--dry-run=client", "--set", "settings.driver=simulated"),
        home=tmp_path,
    )

    assert "With settings.inject=auto they are even refused" in text
    assert "set settings.inject=runtime" in text
