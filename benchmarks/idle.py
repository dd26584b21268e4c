"""What an agent costs a node on which nothing happens: memory and processor, both processes.

It watches an API server meanwhile: a fake one over plain HTTP, the real one over TLS (its programs
must be there, see CONTRIBUTING), or none.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ascend_agent.sim.cluster import FakeApiServer, node
from benchmarks.report import Budget, arguments, publish
from benchmarks.scene import cpu_s, rss_mib, scene, stop
from tests.cluster.account import make_node
from tests.cluster.control_plane import ControlPlane

_SETTLE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """An API server: the options that lead there, and how many requests it had."""

    options: Sequence[str]
    requests: Callable[[], int]


async def run(seconds: int, *, api_server: str) -> dict[str, object]:
    """Return resident memory and processor share of an idle agent with 16 NPUs, HTTP served."""
    async with (
        _served(api_server) as server,
        scene(16, "--http", "127.0.0.1:0", *server.options) as there,
    ):
        await asyncio.sleep(_SETTLE_S)
        pids = (there.agent.pid, there.worker)
        before = [cpu_s(pid) for pid in pids]
        asked = server.requests()
        await asyncio.sleep(seconds)
        used = [cpu_s(pid) - was for pid, was in zip(pids, before, strict=True)]
        memory = [rss_mib(pid) for pid in pids]
        requests = server.requests() - asked
        stopped_s = await stop(there.agent)
    return {
        "api_server": api_server,
        "rss_mib": round(sum(memory), 1),
        "agent_rss_mib": round(memory[0], 1),
        "worker_rss_mib": round(memory[1], 1),
        "cpu_percent": round(100 * sum(used) / seconds, 3),
        "agent_cpu_percent": round(100 * used[0] / seconds, 3),
        "worker_cpu_percent": round(100 * used[1] / seconds, 3),
        "api_requests": requests,
        "stop_s": round(stopped_s, 2),
        "seconds": seconds,
    }


@asynccontextmanager
async def _served(kind: str) -> AsyncIterator[Server]:
    home = Path(tempfile.mkdtemp(prefix="bench"))
    named = ("--node-name", "n1", "--kubeconfig", str(home / "kubeconfig"))
    try:
        match kind:
            case "fake":
                async with FakeApiServer().running() as fake:
                    fake.store.create(*node())
                    _write_kubeconfig(home / "kubeconfig", fake.url)
                    yield Server(options=named, requests=lambda: len(fake.asked))
            case "real":
                async with ControlPlane() as plane, plane.api() as api:
                    await make_node(api, "n1")
                    plane.kubeconfig(home / "kubeconfig")
                    yield Server(options=named, requests=lambda: _agents(plane))
            case _:
                yield Server(options=(), requests=lambda: 0)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _agents(plane: ControlPlane) -> int:
    """Return what the agent asked for; the end of a watch is no request."""
    return sum(
        event.get("userAgent", "").startswith("ascend-agent/")
        and (event["verb"] != "watch" or event["stage"] == "ResponseStarted")
        for event in plane.audit_events()
    )


def _write_kubeconfig(path: Path, url: str) -> None:
    document = {
        "current-context": "own",
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "agent"}}],
        "clusters": [{"name": "own", "cluster": {"server": url}}],
        "users": [{"name": "agent", "user": {"token": "none"}}],
    }
    path.write_text(json.dumps(document))


def main() -> None:
    """Measure and print."""
    choices = {"api-server": ("fake", "real", "none")}
    given = arguments(__doc__ or "", times=60, choices=choices)
    figures = asyncio.run(run(given.times, api_server=given.api_server))
    budgets = [
        Budget(figure="rss_mib", most=78),
        Budget(figure="cpu_percent", most=0.2),
        Budget(figure="api_requests", most=0),
        Budget(figure="stop_s", most=0.5),
    ]
    publish("idle", figures, budgets, as_json=given.json)


if __name__ == "__main__":
    main()
