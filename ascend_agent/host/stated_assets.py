"""The host of a simulated node, which has the limiting library because that is said.

Nothing is limited there, so no library is looked for; containers' directories are real all the
same.
"""

from collections.abc import Sequence
from pathlib import Path

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.runtime.threads import Threads

_DEADLINE_S = 5.0


class StatedAssets:
    """Implements ``interfaces.SoftPreparation`` with empty *directories*."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = directories
        self._threads = Threads(name="stated-assets", limit=1)

    async def prepare(self) -> None:
        """Make the directories where they are missing; raises HostError."""
        try:
            await self._threads.run(self._make, deadline_s=_DEADLINE_S)
        except TimeoutError:
            raise HostError(
                f"the simulated node's directories could not be made within {_DEADLINE_S:g} s; "
                "look for a hung mount or disk"
            ) from None
        except OSError as error:
            why = explain_refusal(Path(error.filename), error)
            raise HostError(f"{why}; name directories that can be made: --hami-root") from error

    def _make(self) -> None:
        for path in self._directories:
            path.mkdir(parents=True, exist_ok=True)
