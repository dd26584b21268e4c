"""The CDI specification file on the host, replaced atomically or not at all (KL-11).

What it says is decided in ``injection/cdi``, when it is written in ``flows/write_cdi_spec``.
Container runtimes read every ``.json`` and ``.yaml`` file of the directory whenever they like, so
they may never see half a file, nor a temporary one.
"""

import json
import stat
from collections.abc import Mapping
from pathlib import Path

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.atomic import remove_leftovers, replace_file
from ascend_agent.runtime.threads import Threads

_NAME = "ascend-agent.json"
_MODE = 0o644


class CdiFile:
    """Implements ``interfaces.CdiWriter`` for ``ascend-agent.json`` in *directory*."""

    def __init__(self, *, directory: Path, deadline_s: float = 5.0) -> None:
        self._directory = directory
        self._path = directory / _NAME
        self._deadline_s = deadline_s
        # One thread: writes happen in turn, and one whose deadline passed while an earlier one
        # hung never happens, so that no old document is put over a newer one.
        self._threads = Threads(name="cdi-file", limit=1)

    async def write(self, document: Mapping[str, object]) -> bool:
        """Replace the file; return False where it already said the same.

        Raises:
            HostError: the file can't be written; the old one, if any, still stands.

        """
        content = json.dumps(document, indent=2).encode() + b"\n"
        try:
            return await self._threads.run(
                lambda: self._write(content), deadline_s=self._deadline_s
            )
        except TimeoutError:
            raise HostError(
                f"{self._path} could not be written within {self._deadline_s:g} s; "
                "look for a hung mount or disk on the node"
            ) from None
        except OSError as error:
            refusal = explain_refusal(Path(error.filename or self._directory), error)
            raise HostError(
                f"can't write {self._path}: {refusal}; see --cdi-dir and the pod's mounts"
            ) from error

    def _write(self, content: bytes) -> bool:
        self._directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        remove_leftovers(self._path)
        if self._says(content):
            return False
        replace_file(self._path, content, mode=_MODE)
        return True

    def _says(self, content: bytes) -> bool:
        """Return whether the file is a plain one with this content, and readable to runtimes."""
        try:
            seen = self._path.lstat()
            plain = seen.st_mode == stat.S_IFREG | _MODE and seen.st_size == len(content)
            return plain and self._path.read_bytes() == content
        except OSError:
            return False  # absent or unreadable: to be replaced
