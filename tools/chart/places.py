"""Where the chart is, and how the names of its values follow from those of the options."""

from typing import Final

from tools.docs.pages import ROOT

CHART: Final = ROOT / "charts" / "ascend-agent"
VALUES: Final = CHART / "values.yaml"
SCHEMA: Final = CHART / "values.schema.json"
README: Final = CHART / "README.md"


def value_name(option: str) -> str:
    """Return the name of the value of an option: ``kubelet-dir`` is ``kubeletDir``."""
    first, *rest = option.split("-")
    return first + "".join(word.capitalize() for word in rest)
