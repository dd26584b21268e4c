"""How words of the API server, of proxies and of foreign objects appear in our errors and logs."""

_SHOWN = 200


def shown(text: str, *, limit: int = _SHOWN) -> str:
    """Return *text* on one line, at most *limit* characters of it; a cut shows as ``...``."""
    # Cut first: what is megabytes long need not be looked at to its end.
    head = "".join(char if char.isprintable() else "?" for char in text[: limit + 1])
    return head if len(head) <= limit else f"{head[: limit - 3]}..."
