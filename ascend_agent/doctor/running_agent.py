"""The check ``agent``: what the agent that runs here says of itself, on its status page."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import aiohttp

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.settings import HttpAddress

_WHAT: Final = "the agent's own word"
_EVERYWHERE: Final = {None: "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- compared, not bound


async def _look(place: Place) -> tuple[Finding, ...]:
    address = place.settings.http
    if address is None or address.port == 0:
        return (skipped(_WHAT, "the agent has no pages at a known port: --http is off"),)
    url = status_url(address)
    try:
        status = await _get(url, deadline_s=place.deadline_s)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        return (
            warn(
                "the agent's page does not answer",
                f"{url}: {str(error) or type(error).__name__}",
                remedy="start the agent; if it runs, compare its --http with the doctor's",
            ),
        )
    return judge(status)


def status_url(address: HttpAddress) -> str:
    """Return where the status page is to be had from this host."""
    host = _EVERYWHERE.get(address.host, address.host)
    return f"http://{f'[{host}]' if host and ':' in host else host}:{address.port}/status"


async def _get(url: str, *, deadline_s: float) -> Mapping[str, Any]:
    async with (
        asyncio.timeout(deadline_s),
        aiohttp.ClientSession(trust_env=False) as session,
        session.get(url, allow_redirects=False) as answer,
    ):
        found = json.loads(await answer.text())
    if not isinstance(found, dict) or "ready" not in found:
        raise ValueError("this is no page of the agent")
    return found


def judge(status: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return what a status document says: ready, or each reason why not, and what is withheld."""
    return (*_readiness(status), *_soft_mode(status.get("hami")))


def _readiness(status: Mapping[str, Any]) -> Iterator[Finding]:
    if status["ready"]:
        yield ok("the agent is ready", f"version {status.get('version')}")
        return
    for reason in str(status.get("why") or "no reason given").split("; "):
        yield fail("the agent is not ready", reason, remedy="see the other checks, and /status")


def _soft_mode(hami: object) -> Iterator[Finding]:
    """Yield why soft mode is asked for and not offered (CF-6)."""
    if isinstance(hami, dict) and hami.get("wants_soft") and hami.get("mode") != "soft":
        yield warn(
            "soft mode not offered",
            str(hami.get("soft_trouble") or "no reason given"),
            remedy="do what it says; the agent tries again by itself, and until then offers whole "
            "cards and templates, so pods with vnpu-mode hami-core stay pending",
        )


CHECK: Final = Check(
    name="agent",
    asks="Is the agent that runs here ready, and if not, why?",
    advice=(
        "Not ready: each reason is the agent's own; the check of the part that it names tells "
        "more.\n"
        "Does not answer: no agent runs, or its pages listen elsewhere.\n"
        "Soft mode not offered: HAMi's files ask for it, and the host can't limit containers yet."
    ),
    look=_look,
)
