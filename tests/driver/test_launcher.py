import logging

import pytest

from ascend_agent.driver.bring_up import StartFailedError
from ascend_agent.driver.launcher import Launcher
from ascend_agent.driver.link import WorkerLink
from tests.driver.scripted import Ear, Script
from tests.fakes.running import settle


def _launcher(script: Script) -> Launcher:
    return Launcher(
        driver="dcmi", config={"library": None}, environment={"PATH": "/bin"}, spawn=script.spawn
    )


async def _launch(launcher: Launcher) -> WorkerLink:
    ear = Ear()
    return await launcher.launch(hear=ear.hear, changed=ear.changed)


async def test_every_worker_is_told_the_same() -> None:
    script = Script()
    launcher = _launcher(script)
    links = [await _launch(launcher) for _ in range(2)]
    await settle()

    assert [w.hello for w in script.workers] == [
        {"driver": "dcmi", "config": {"library": None}}
    ] * 2
    assert script.environments == [{"PATH": "/bin"}] * 2

    for link in links:
        await launcher.retire(link)
    assert [(w.killed, w.released) for w in script.workers] == [(True, True)] * 2


@pytest.mark.parametrize("failure", [OSError(11, "no process"), RuntimeError("no process")])
async def test_a_host_that_gives_no_process_is_a_failed_start(failure: Exception) -> None:
    """Or no thread to wait for the process's end, which Python calls a RuntimeError."""
    script = Script()
    script.failure = failure

    with pytest.raises(StartFailedError, match=r"can't be started.+no process"):
        await _launch(_launcher(script))


async def test_workers_that_survive_their_killing_are_counted_until_they_go(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A hang inside the kernel outlives SIGKILL; a fifth process would only hang as well."""
    script = Script()
    script.immortal = True
    launcher = _launcher(script)
    for _ in range(4):
        await launcher.retire(await _launch(launcher))

    with pytest.raises(StartFailedError, match="4 driver workers hang inside the kernel"):
        await _launch(launcher)
    script.workers[0].vanish()
    fifth = await _launch(launcher)

    assert len(script.workers) == 5
    assert [(r.levelno, r.getMessage()) for r in caplog.records] == [
        (logging.ERROR, "driver worker cannot be killed")
    ] * 4
    script.worker.vanish()
    await launcher.retire(fifth)
