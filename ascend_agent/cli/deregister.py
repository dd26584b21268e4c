"""``deregister``: takes this node's NPUs back from HAMi's scheduler, for an uninstall.

Ending the agent tells the scheduler nothing, since a restart should go unnoticed; so its devices
stay known, and some versions read them again and again. This command does what the agent does
where a word is configured no more (``dialects/hami/leave``). It holds the node lock meanwhile: an
agent that serves the node would register it anew.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Final, NoReturn, Protocol, TypeVar

from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.chips import CHIPS
from ascend_agent.dialects.hami.device_config import parse_device_config
from ascend_agent.dialects.hami.leave import PATIENCE_MS, Leaving, Step, registered_words
from ascend_agent.errors import (
    ClusterUnreachableError,
    ConfigError,
    HostError,
    TaskEndedError,
)
from ascend_agent.host.lock import FileInstanceLock
from ascend_agent.host.text_files import read_texts
from ascend_agent.interfaces import ClusterEditor, ClusterWatch
from ascend_agent.model.cluster import ApiState, NodeEdit, NodeObject
from ascend_agent.model.ids import NodeName
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.settings import Settings

T = TypeVar("T")
Say = Callable[[str], None]

_ANSWER_S: Final = 30.0
"""How long an API server may take to show the Node, or to take an edit."""
_BUILT_IN: Final = tuple(chip.word for chip in CHIPS)


class Cluster(ClusterWatch, ClusterEditor, Protocol):
    """What is needed of the API server."""


def words_of(settings: Settings, given: Sequence[str]) -> tuple[str, ...]:
    """Return the words to look for: those *given*, else those of HAMi's file and the built-in ones.

    Raises:
        ConfigError: the API server can't be used, or the file can't.

    """
    if settings.api_obstacle:
        raise ConfigError(f"the node can't be read: {settings.api_obstacle}")
    if given:
        return tuple(dict.fromkeys(given))
    path = settings.device_config
    found = read_texts({str(path): path})
    why = found.troubles.get(str(path), "")
    configured: tuple[str, ...] = ()
    if (text := found.texts.get(str(path))) is not None:
        try:
            configured = tuple(chip.word for chip in parse_device_config(text).chips)
        except ValueError as error:
            why = str(error)
    if "device_config" in settings.model_fields_set and not (found.texts or why):
        # Whoever mistyped it would read that nothing is registered, and uninstall for good.
        why = "is not there; give the file that the scheduler has"
    if why:
        raise ConfigError(f"{path}: {why}; or say with --word what is to be taken back")
    return tuple(dict.fromkeys((*configured, *_BUILT_IN)))


async def deregister(settings: Settings, words: Sequence[str], say: Say) -> None:
    """Take back what is registered under *words*, and *say* what was done.

    Raises:
        HostError: an agent serves this node, or that can't be told.
        ClusterError: the API server does not answer, or refuses.

    """
    lock = FileInstanceLock(settings.run_dir / "ascend-agent.lock")
    if not lock.try_acquire():
        raise HostError(
            f"an agent serves this node ({lock.holder()}): end it first, or it registers the "
            "node anew"
        )
    clock = Clock()
    node = NodeName(settings.node_name or "")
    connection = ClusterConnection(
        node=node,
        api_server=settings.api_server,
        kubeconfig=settings.kubeconfig,
        service_account_dir=settings.service_account_dir,
        relax_tls=settings.relax_tls,
        now=clock.now,
    )
    try:
        async with asyncio.TaskGroup() as group:
            run = group.create_task(connection.run(), name="cluster-connection")
            await take_back(connection, node, words, clock=clock, say=say)
            run.cancel()
    finally:
        lock.release()


async def take_back(
    cluster: Cluster, name: NodeName, words: Sequence[str], *, clock: Clock, say: Say
) -> None:
    """Take back what is registered under *words*; raises as ``deregister`` does."""
    nodes: Latest[NodeObject] = Latest("own node")
    states: Latest[ApiState] = Latest("api server")
    wakeup = Wakeup()
    nodes.attach(wakeup)
    async with AsyncExitStack() as stack:
        for work in (
            _copy(cluster.nodes(), nodes.claim("deregister")),
            _copy(cluster.states(), states.claim("deregister")),
        ):
            await stack.enter_async_context(beside(work, name="follow"))
        node = await _first(name, nodes, states, wakeup)
        ways = {word: Leaving(word=word) for word in registered_words(node, words)}
        if not ways:
            say(f"{name}: no NPUs are registered with HAMi's scheduler")
        for word in ways:
            say(f"{word}: the scheduler is to let go, {PATIENCE_MS // 1000} s at most")
        others = set(registered_words(node, (*_BUILT_IN, *words))) - ways.keys()
        while ways:
            node = nodes.value or node
            steps = {
                word: way.step(node, now=clock.now(), last=not others) for word, way in ways.items()
            }
            await _write(cluster, name, steps)
            for word, step in steps.items():
                ways[word] = ways[word].told(step, clock.now())
                if step.over:
                    del ways[word]
                    say(_outcome(word, step))
            moments = [step.wake_at for step in steps.values()]
            if all(at is not None for at in moments):
                await wakeup.wait(clock.loop_time(min(at for at in moments if at is not None)))


async def _first(
    name: NodeName, nodes: Latest[NodeObject], states: Latest[ApiState], wakeup: Wakeup
) -> NodeObject:
    """Return the Node as soon as it is known as it is now."""
    until = asyncio.get_running_loop().time() + _ANSWER_S
    while nodes.value is None or not nodes.value.live:
        if not await wakeup.wait(until):
            detail = states.value.detail if states.value else ""
            why = detail or f"not seen within {_ANSWER_S:g} s"
            raise ClusterUnreachableError("watch", f"nodes/{name}", why)
    return nodes.value


async def _write(cluster: Cluster, name: NodeName, steps: dict[str, Step]) -> None:
    annotations: dict[str, str | None] = {}
    for step in steps.values():
        annotations |= step.annotations or {}
    if not annotations:
        return
    edit = NodeEdit(
        labels={},
        annotations=annotations,
        answered=frozenset(keys.handshake(word) for word in steps),
    )
    try:
        async with asyncio.timeout(_ANSWER_S):
            await cluster.apply(edit)
    except TimeoutError:
        why = f"no edit was acknowledged within {_ANSWER_S:g} s"
        raise ClusterUnreachableError("patch", f"nodes/{name}", why) from None


def _outcome(word: str, step: Step) -> str:
    if step.unheard:
        return (
            f"{word}: taken back; no scheduler has let go of its devices, so one that knows them "
            "may know them until it is restarted"
        )
    return f"{word}: taken back; the scheduler has let go of its devices"


async def _copy(values: AsyncIterator[T], writer: LatestWriter[T]) -> NoReturn:
    async for value in values:
        writer.put(value)
    raise TaskEndedError("watch")
