"""Whether the way in that was chosen can work on this node."""

import pytest

from ascend_agent.settings import InjectionWay
from tests.agent.stage import staged


@pytest.mark.parametrize(
    ("way", "seen", "told"),
    [
        (InjectionWay.RUNTIME, False, True),
        (InjectionWay.RUNTIME, True, False),
        (InjectionWay.DEVICES, False, False),
        (InjectionWay.AUTO, False, False),
    ],
)
async def test_a_runtime_that_is_needed_and_not_seen_is_told(
    caplog: pytest.LogCaptureFixture, way: InjectionWay, *, seen: bool, told: bool
) -> None:
    """IM-5: without it the variables in the answer do nothing, and no pod would say why."""
    async with staged(inject=way, docker_runtime=seen) as stage, stage.agent():
        pass

    warned = "container runtime not seen" in [r.getMessage() for r in caplog.records]
    assert warned is told
