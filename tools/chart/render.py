"""Renders the chart with real Helm for each values file of ``ci/``, as the golden files hold it.

Each file stands for a way to use the chart: a distribution, a way of injection, a peer's place.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tools.chart.places import CHART
from tools.docs.pages import ROOT

RELEASE: Final = "ascend-agent"
NAMESPACE: Final = "kube-system"
GOLDEN: Final = ROOT / "tests" / "chart" / "golden"
KUBERNETES: Final = "1.36.3"
"""What a set is rendered for; Helm's own default moves with Helm."""

_OLDER: Final[Mapping[str, str]] = MappingProxyType({"old-kubernetes": "1.28.0"})
_SUFFIX: Final = "-values.yaml"


class HelmError(Exception):
    """Helm refused; the text is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSet:
    """One values file of the chart; ``kubernetes`` is the version it is rendered for."""

    name: str
    file: Path
    kubernetes: str

    @property
    def golden(self) -> Path:
        """Return where its rendered objects are kept."""
        return GOLDEN / f"{self.name}.yaml"


def value_sets() -> tuple[ValueSet, ...]:
    """Return all sets, by name."""
    files = sorted((CHART / "ci").glob(f"*{_SUFFIX}"))
    names = [file.name.removesuffix(_SUFFIX) for file in files]
    return tuple(
        ValueSet(name=name, file=file, kubernetes=_OLDER.get(name, KUBERNETES))
        for name, file in zip(names, files, strict=True)
    )


def run_helm(helm: Path, *arguments: str | Path, home: Path | None = None) -> str:
    """Run Helm without the user's own configuration and return what it prints.

    Raises:
        HelmError: it refused.

    """
    environment = {"HOME": str(home or "/nonexistent"), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [helm, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise HelmError(ran.stderr.strip() or ran.stdout.strip())
    return ran.stdout


def render(helm: Path, chosen: ValueSet, *, options: Sequence[str] = ()) -> str:
    """Return all objects of the chart with the values of *chosen*; raises HelmError."""
    what = ("template", RELEASE, CHART, "--namespace", NAMESPACE)
    how = ("--values", chosen.file, "--kube-version", chosen.kubernetes)
    return run_helm(helm, *what, *how, *options)
