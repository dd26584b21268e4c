"""Which of two versions of API objects is the newer one.

The API server promises that versions of objects of one collection compare as integers (API
concepts, "Resource versions"); anything that is none can only be equal or not.
"""

from ascend_agent.model.ids import ObjectVersion


def is_newer(one: ObjectVersion, other: ObjectVersion) -> bool | None:
    """Return whether *one* is newer than *other*; None where nobody can tell."""
    if one == other:
        return False
    if all(version.isascii() and version.isdigit() for version in (one, other)):
        return int(one) > int(other)
    return None
