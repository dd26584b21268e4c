"""A collection followed from stream to stream, so that no change is missed.

A server ends the stream of whoever is slow to read, as a scene with many pods may be.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import aiohttp

from tests.cluster.api import Api, Json


async def followed(api: Api, path: str, **query: str) -> AsyncGenerator[Json, None]:
    """Yield the events of the collection at *path* for ever, from as it was when first asked.

    Raises:
        ApiError: the server refused, or has forgotten what was not yet seen.

    """
    listed = await api.get(path, **query)
    version: str = listed["metadata"]["resourceVersion"]
    for item in listed["items"]:
        yield {"type": "ADDED", "object": item}
    while True:
        try:
            async with aclosing(api.watch(path, resourceVersion=version, **query)) as events:
                async for event in events:
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield event
        except aiohttp.ClientError:
            continue  # cut in the middle of a line
