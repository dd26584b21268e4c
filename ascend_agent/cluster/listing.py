"""All objects of one collection at one moment, asked for page by page.

Decided here: how big a page is and how long one may take. When to list and what becomes of the
objects is the caller's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ascend_agent.cluster.refusals import Asked
from ascend_agent.cluster.server import ApiServer, Json, Request
from ascend_agent.cluster.tally import Tally
from ascend_agent.errors import ClusterUnreachableError
from ascend_agent.model.ids import ObjectVersion

_WITHIN_S: Final = 60.0
_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What to list or follow: *rule* is what RBAC calls it; the forms are of list and events."""

    path: str
    selector: str
    rule: str
    list_form: str = "application/json"
    event_form: str = "application/json"


async def list_all(
    server: ApiServer,
    collection: Collection,
    *,
    cached: bool,
    tally: Tally,
    within_s: float = _WITHIN_S,
) -> tuple[list[object], ObjectVersion]:
    """Return all items and their version; *within_s* is each page's.

    Those that are *cached* come from the server's memory and may be a little old, all others are
    the truth of this moment.

    Raises:
        ExpiredError: the pages took so long that the server has forgotten their version.
        ClusterError: they could not be read.

    """
    items: list[object] = []
    query = [("resourceVersion", "0")] if cached else [("limit", str(_PAGE))]
    asked = Asked(verb="list", target=collection.path, rule=collection.rule)
    further = ""
    while True:
        tally.lists += 1
        page = await server.ask(
            Request(
                method="GET",
                path=collection.path,
                asked=asked,
                query=(("fieldSelector", collection.selector), *query, *_from(further)),
                accept=collection.list_form,
            ),
            within_s=within_s,
        )
        items += _items_of(page)
        further = str(metadata_of(page).get("continue") or "")
        if not further:
            version = version_in(page)
            if version is None:
                raise ClusterUnreachableError("list", asked.target, "the list has no version")
            return items, version


def metadata_of(item: object) -> Json:
    """Return the metadata of an object or a list; empty where it has none."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def version_in(item: object) -> ObjectVersion | None:
    """Return the version of an object or a list, None where it has none."""
    version = metadata_of(item).get("resourceVersion")
    return ObjectVersion(version) if isinstance(version, str) and version else None


def _from(further: str) -> Sequence[tuple[str, str]]:
    return [("continue", further)] if further else []


def _items_of(page: Json) -> list[object]:
    items = page.get("items")
    return items if isinstance(items, list) else []
