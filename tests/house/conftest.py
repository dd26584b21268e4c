"""The parsed sources are shared within a module and let go after it.

They are half a million objects, over which the garbage collector would stumble in later tests.
"""

from collections.abc import Iterator

import pytest

from tests.house.sources import sources


@pytest.fixture(autouse=True, scope="module")
def _parsed_sources() -> Iterator[None]:
    yield
    sources.cache_clear()
