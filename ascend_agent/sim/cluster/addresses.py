"""What a request asks about: the object its path names, the items its query selects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ascend_agent.sim.cluster.store import Json, Key, RefusedError

_PREFIX = "/api/v1/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A path of the API: a collection where ``name`` is None, else an object or a part of it.

    ``part`` is the subresource (``status``, ``binding``), empty for the object itself.
    """

    kind: str
    namespace: str | None = None
    name: str | None = None
    part: str = ""

    @property
    def key(self) -> Key:
        """Where the object is; for a path that names one."""
        return self.kind, self.namespace, self.name or ""


def parse_path(path: str) -> Address:
    """Return what *path* names.

    Raises:
        RefusedError: 404, it names nothing that this server has.

    """
    match path.removeprefix(_PREFIX).split("/"):
        case ["namespaces", namespace, kind]:
            return Address(kind=kind, namespace=namespace)
        case ["namespaces", namespace, kind, name]:
            return Address(kind=kind, namespace=namespace, name=name)
        case ["namespaces", namespace, kind, name, ("status" | "binding") as part]:
            return Address(kind=kind, namespace=namespace, name=name, part=part)
        case ["nodes", name, "status"]:
            return Address(kind="nodes", name=name, part="status")
        case [kind, name]:
            return Address(kind=kind, name=name)
        case [kind]:
            return Address(kind=kind)
    raise RefusedError(404, "NotFound", f"the server could not find {path}")


def selection(address: Address, query: Mapping[str, str]) -> Callable[[Json], bool]:
    """Return whether an item is in the collection at *address* and fits the field selector."""
    fields = [part.split("=", 1) for part in query.get("fieldSelector", "").split(",") if part]

    def fits(item: Json) -> bool:
        if address.namespace is not None and item["metadata"]["namespace"] != address.namespace:
            return False
        return all(_at(item, field) == value for field, value in fields)

    return fits


def _at(item: Json, field: str) -> object:
    """Return the value of a field selector; one that is not there is an empty text."""
    found: object = item
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return "" if found is None else found
