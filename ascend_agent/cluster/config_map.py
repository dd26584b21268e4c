"""The one ConfigMap that is followed: where it is, and its data as the server last said.

Decided here: what counts as said. An answer that can't be read, or is larger than the API allows,
is none: what was known stays. What the data mean is left to whoever reads them.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from ascend_agent.cluster.fields import MalformedError, as_object, child
from ascend_agent.cluster.listing import Collection
from ascend_agent.cluster.tally import Tally
from ascend_agent.cluster.texts import shown
from ascend_agent.model.cluster import ConfigMapKey
from ascend_agent.model.ids import ObjectVersion

log = logging.getLogger(__name__)

Data = Mapping[str, str]

_LARGEST: Final = 1024 * 1024  # bytes of all values together; the API's own limit


def config_map(key: ConfigMapKey) -> Collection:
    """Return the collection that holds this ConfigMap alone.

    A rule of RBAC that names one object allows a list and a watch with just this selector.
    """
    return Collection(
        path=f"/api/v1/namespaces/{quote(key.namespace, safe='')}/configmaps",
        selector=f"metadata.name={key.name}",
        rule=f"configmaps in namespace {key.namespace}",
    )


def parse_config_map(item: object) -> Data:
    """Return ``data``; raises MalformedError where it is no ConfigMap or too large for one."""
    raw = as_object(item, what="a ConfigMap")
    if not child(raw, "metadata").get("name"):
        raise MalformedError("a ConfigMap has no name")
    data = {key: text for key, text in child(raw, "data").items() if isinstance(text, str)}
    size = sum(len(text.encode()) for text in data.values())
    if size > _LARGEST:
        raise MalformedError(f"a ConfigMap holds {size} bytes, more than {_LARGEST}")
    return data


class ConfigMapSink:
    """The sink of that collection; *publish* gets the data, or None where there is no such map."""

    def __init__(self, *, publish: Callable[[Data | None], object], tally: Tally) -> None:
        self._publish = publish
        self._tally = tally
        self._data: Data | None = None
        self._changed = False
        self._told = ""

    def replace(self, items: Sequence[object], version: ObjectVersion) -> None:  # noqa: ARG002 -- there is one at most, and events come in order
        """Take *items*, one or none, for all there is."""
        if not items:
            self._take(None)
        for item in items:
            self.show(item)

    def show(self, item: object) -> None:
        """Take the newest state of the map."""
        try:
            self._take(parse_config_map(item))
        except (MalformedError, UnicodeEncodeError) as error:
            self._tally.skipped_objects += 1
            if (why := shown(str(error))) != self._told:
                self._told = why
                log.warning("malformed object skipped", extra={"why": why})

    def remove(self, item: object) -> None:  # noqa: ARG002 -- there is one at most
        """Take the map for gone."""
        self._take(None)

    def set_live(self, *, live: bool) -> None:
        """Do nothing: rules stay in force while nobody answers."""

    def publish(self) -> None:
        """Publish the data, if something was said since the last time."""
        if self._changed:
            self._changed = False
            self._publish(self._data)

    def _take(self, data: Data | None) -> None:
        self._data = data
        self._changed = True
