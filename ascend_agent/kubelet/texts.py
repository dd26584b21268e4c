"""How words of the other side appear in our errors and logs: cut, and without control characters.

Ids, names and messages come from outside the agent. They end up in pod events and on terminals,
so none may be long, break a line or move a cursor.
"""

_SHOWN = 80


def shown(text: str, *, limit: int = _SHOWN) -> str:
    """Return *text* on one line, at most *limit* characters of it; a cut shows as ``...``."""
    # Cut first: what is megabytes long need not be looked at to its end.
    head = "".join(char if char.isprintable() else "?" for char in text[: limit + 1])
    return head if len(head) <= limit else f"{head[: limit - 3]}..."
