"""Writes the golden files of the chart: ``python -m tools.chart``.

Needs Helm: a folder of ``ASCEND_CLUSTER_ASSETS``, or what ``nox -s cluster_assets`` built.
"""

import os
import sys

from tools import cluster_assets
from tools.chart.render import GOLDEN, render, value_sets
from tools.docs.pages import ROOT


def main() -> int:
    """Write one file a set, and remove those of sets that are gone."""
    helm = cluster_assets.find("helm", dict(os.environ))  # noqa: TID251 -- where its programs are
    if helm is None:
        print("helm is not built: `nox -s cluster_assets`")
        return 1
    chosen = value_sets()
    for one in chosen:
        one.golden.parent.mkdir(parents=True, exist_ok=True)
        one.golden.write_text(render(helm, one))
    for stale in set(GOLDEN.glob("*.yaml")) - {one.golden for one in chosen}:
        stale.unlink()
    print(f"wrote {len(chosen)} files to {GOLDEN.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
