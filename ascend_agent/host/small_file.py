"""A small file that others write, read whole off the loop and within a bound."""

from pathlib import Path

from ascend_agent.errors import HostError
from ascend_agent.runtime.regular import read_regular
from ascend_agent.runtime.threads import Threads


class LocalFile:
    """Implements ``interfaces.SmallFile``."""

    def __init__(self, path: Path, *, limit: int = 1 << 20, deadline_s: float = 2.0) -> None:
        self._path = path
        self._limit = limit
        self._deadline_s = deadline_s
        self._threads = Threads(name=f"file {path.name}", limit=1)

    async def read(self) -> bytes | None:
        """Return what is in the file now, None where there is none.

        Raises:
            HostError: it can't be read, or not in time, or has more than *limit* bytes.

        """
        try:
            return await self._threads.run(
                lambda: read_regular(self._path, limit=self._limit), deadline_s=self._deadline_s
            )
        except (FileNotFoundError, NotADirectoryError):
            return None
        except TimeoutError:
            raise HostError(f"{self._path} did not answer within {self._deadline_s:g} s") from None
        except OSError as error:
            raise HostError(f"{self._path}: {error.strerror}") from error
        except ValueError as error:
            raise HostError(str(error)) from error
