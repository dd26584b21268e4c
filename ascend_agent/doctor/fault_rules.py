"""The check ``fault-rules``: whether the operator's files with fault rules can be used.

They are read and judged by the code that the agent follows them with. The ConfigMap is not asked
for: an agent that runs says in its log and in an Event what is wrong with it.
"""

from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.faults.fault_config import FILES, FaultConfig, Sources, judge
from ascend_agent.host.fault_files import read_fault_files


async def _look(place: Place) -> tuple[Finding, ...]:
    directory = place.settings.fault_config_dir
    if directory is None:
        return (skipped("fault rules", "the built-in ones count: no --fault-config-dir"),)
    files = await place.off_loop(lambda: read_fault_files(directory, FILES))
    config = judge(FaultConfig(), Sources(directory=str(directory), files=files))
    if config.refused:
        return tuple(
            warn("fault rules not usable", text, remedy="correct it; see docs/faults.md")
            for text in config.refused
        )
    return (ok("fault rules in order", config.rules().source),)


CHECK: Final = Check(
    name="fault-rules",
    asks="With --fault-config-dir: can every file, and every entry in it, be used?",
    advice=(
        "Not usable: a file that is refused changes nothing, an entry that is left out changes "
        "nothing for its code; ascend-agent faults --fault-config-dir=DIR shows what is in force "
        "then."
    ),
    look=_look,
)
