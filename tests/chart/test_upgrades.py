"""A release goes from one set of values to another, back, and away, on a real API server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.chart.objects import SETS, golden
from tests.chart.test_server import PLACES
from tests.cluster.api import Api, Json
from tests.cluster.control_plane import ControlPlane
from tools.chart.places import CHART
from tools.chart.render import NAMESPACE, run_helm

pytestmark = pytest.mark.cluster

RELEASE: Final = "upgraded"
STEPS: Final = ("replaces-mindcluster", "replaces-hami", "own-node", "confined")


async def there(api: Api, namespace: str) -> list[tuple[str, str]]:
    """Return kind and name of each object that is the release's."""
    found = []
    for kind, path in PLACES.items():
        if kind not in {"PodMonitor", "PrometheusRule"}:  # none of these sets has them
            # Roles stand where what they allow is, whatever the release's own namespace.
            everywhere = kind in {"Role", "RoleBinding"}
            own = path.replace(
                f"namespaces/{NAMESPACE}/", "" if everywhere else f"namespaces/{namespace}/"
            )
            items = await api.list(own)
            found += [(kind, str(one["metadata"]["name"])) for one in items if _is_ours(one)]
    return sorted(found)


def _is_ours(one: Json) -> bool:
    notes = one["metadata"].get("annotations") or {}
    return bool(notes.get("meta.helm.sh/release-name") == RELEASE)


def wanted(name: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each object of a set, for a release of our name."""
    for one in golden(name).objects:
        yield (
            one["kind"],
            one["metadata"]["name"].replace("ascend-agent", f"{RELEASE}-ascend-agent"),
        )


async def test_any_set_of_values_may_follow_any_other(
    control_plane: ControlPlane, api: Api, own_namespace: str, helm: Path, tmp_path: Path
) -> None:
    """A DaemonSet's selector can't be changed, so what another selects has another name.

    What a set does not have goes, a rollback is one of these ways, and in the end nothing is left.
    """
    access = ("--kubeconfig", control_plane.kubeconfig(tmp_path / "kubeconfig"))
    where = ("--namespace", own_namespace, *access)

    run_helm(helm, "install", RELEASE, CHART, *where, home=tmp_path)
    for name in STEPS:
        values = ("--values", SETS[name].file)
        run_helm(helm, "upgrade", RELEASE, CHART, *values, *where, home=tmp_path)
        assert await there(api, own_namespace) == sorted(wanted(name)), name
    run_helm(helm, "rollback", RELEASE, "2", *where, home=tmp_path)
    assert await there(api, own_namespace) == sorted(wanted(STEPS[0]))
    run_helm(helm, "uninstall", RELEASE, *where, home=tmp_path)

    assert await there(api, own_namespace) == []
