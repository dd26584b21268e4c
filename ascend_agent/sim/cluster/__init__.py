"""A small API server: real HTTP on this machine's own address, objects in memory.

For ``sim`` and for tests of whatever talks to an API server. What it promises is what the tests'
contract suite asks of the real one too.
"""

from ascend_agent.sim.cluster.objects import config_map, node, pod
from ascend_agent.sim.cluster.server import FakeApiServer, Trouble
from ascend_agent.sim.cluster.store import ApiStore, Event, Json, Key, RefusedError

__all__ = [
    "ApiStore",
    "Event",
    "FakeApiServer",
    "Json",
    "Key",
    "RefusedError",
    "Trouble",
    "config_map",
    "node",
    "pod",
]
