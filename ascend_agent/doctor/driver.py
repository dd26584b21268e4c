"""The check ``driver``: whether the library loads and initialises, in a worker of its own.

Also decides how long the driver is waited for: it is asked once, for every check.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from ascend_agent.doctor.answers import DriverAnswer, DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.survey import survey
from ascend_agent.errors import AgentError
from ascend_agent.settings import DriverKind, Settings

_CAUSES: Final = (
    "follow the sentence above; then ascend-agent devices shows whether it helped, and "
    "npu-smi info on the host what the vendor's own tool says"
)


async def ask_driver(
    settings: Settings, *, environment: Mapping[str, str], deadline_s: float
) -> DriverAnswer:
    """Return what the driver says of this node, or why it says nothing; never raises."""
    try:
        async with asyncio.timeout(deadline_s):
            return await survey(settings, environment=environment, processes=True)
    except TimeoutError:
        return DriverTrouble(
            why=f"no answer within {deadline_s:g} s: a call inside the driver's library hangs"
        )
    except ExceptionGroup as group:
        ours, others = group.split(AgentError)
        if ours is None or others is not None:
            raise
        return DriverTrouble(why="; ".join(str(error) for error in _leaves(ours)))


def _leaves(group: BaseExceptionGroup[AgentError]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


async def _look(place: Place) -> tuple[Finding, ...]:
    answer = await place.driver()
    if isinstance(answer, DriverTrouble):
        return (fail("driver does not answer", answer.why, remedy=_CAUSES),)
    state = answer.driver
    api = state.api.value if state.api else "?"
    words = f"driver {state.driver_version or '?'}, dcmi {state.dcmi_version or '?'}, API {api}"
    if place.settings.driver is DriverKind.SIMULATED:
        return (ok("driver answers", f"simulated: {words}"),)
    return (ok("driver answers", f"{state.library}: {words}"),)


CHECK: Final = Check(
    name="driver",
    asks="Can a worker process load the library and initialise it, and what does it say?",
    advice=(
        "The detail has the failing call, its return code in words, and the next step.\n"
        "No answer in time: a call hangs inside the library or the kernel; look at the kernel "
        "log, and restart the node if no card answers.\n"
        "The library can't be loaded: a library that it needs is missing from the pod, or it "
        "was made for another machine."
    ),
    look=_look,
)
