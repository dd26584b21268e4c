"""The library that limits containers, and what loads it, brought onto the host.

Decides when a file is fit and how it gets there. Files in use are replaced, never written to:
processes that have the old one mapped go on with it (HAMi E8). Only what was installed from here
is ever removed (UP-3), which a manifest beside the files remembers. When all this happens is
decided in ``flows/prepare_soft``.
"""

import json
import logging
import os
import re
import stat
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path
from typing import Final

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.atomic import remove_leftovers, replace_file, replace_with_pieces
from ascend_agent.host.elf import library_problem
from ascend_agent.runtime.regular import read_regular
from ascend_agent.runtime.threads import Threads

log = logging.getLogger(__name__)

_LIBRARY: Final = "libvnpu.so"
_PRELOAD: Final = "ld.so.preload"
_LOADED: Final = "/hami-vnpu-core/libvnpu.so"
_MANIFEST: Final = ".ascend-agent-assets.json"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FORMAT: Final = 1
_ROOT_MODE: Final = 0o775
_OPEN_TO_ALL: Final = 0o777
_PIECE: Final = 256 * 1024
_LARGEST: Final = 256 * 1024 * 1024
_LONGEST_TEXT: Final = 64 * 1024


class HostAssets:
    """Implements ``interfaces.SoftPreparation``: from *assets* to *root*, and the open *region*.

    A file that *assets* does not have may be on the host already: then that one must be fit.
    """

    def __init__(
        self,
        *,
        assets: Path,
        root: Path,
        region: Path,
        machine: str | None = None,
        deadline_s: float = 60.0,
    ) -> None:
        self._assets = assets
        self._root = root
        self._region = region
        self._machine = machine or os.uname().machine
        self._deadline_s = deadline_s
        self._threads = Threads(name="host-assets", limit=1)

    async def prepare(self) -> None:
        """Install what is missing or differs.

        Raises:
            HostError: containers can't be limited; the text says why and what to do.

        """
        try:
            await self._threads.run(self._prepare, deadline_s=self._deadline_s)
        except TimeoutError:
            raise HostError(
                f"{self._root} could not be prepared within {self._deadline_s:g} s; look for a "
                "hung mount or disk on the node"
            ) from None
        except ValueError as error:  # of _opened, at whichever step something changed
            raise HostError(f"{error}: replace it") from error
        except OSError as error:
            refusal = explain_refusal(Path(error.filename or self._root), error)
            raise HostError(
                f"the host can't be prepared: {refusal}; see --hami-root, --hami-shared-region, "
                "--hami-assets and the pod's mounts"
            ) from error

    # What follows runs on a thread of its own.

    def _prepare(self) -> None:
        _make_directory(self._region, _OPEN_TO_ALL)
        if stat.S_IMODE(self._region.stat().st_mode) != _OPEN_TO_ALL:
            self._region.chmod(_OPEN_TO_ALL)
        _make_directory(self._root, _ROOT_MODE)
        # All are looked at before the first is touched. The library comes before what loads it.
        sources = {name: self._source(name) for name in (_LIBRARY, _PRELOAD)}
        for source in sources.values():
            with _opened(source) as file:
                self._check(source, file)
        known = self._read_manifest()
        ours = dict(known)
        for name, source in sources.items():
            remove_leftovers(self._root / name)
            if source.parent == self._assets:
                ours[name] = self._install(source, self._root / name)
        self._remove_obsolete(ours, keep=sources)
        if ours != known:
            self._write_manifest(ours)

    def _source(self, name: str) -> Path:
        """Return where the file comes from; the host's own, where there is no other."""
        for directory in (self._assets, self._root):
            if (directory / name).exists():
                return directory / name
        raise HostError(
            f"{self._assets / name} is missing, and {self._root / name} as well: put the library "
            "for this node's machine into --hami-assets, or the node into hard mode"
        )

    def _check(self, path: Path, file: BufferedReader) -> None:
        """Raise HostError unless *file*, which is at its beginning, is fit."""
        head, size = file.read(_PIECE), os.fstat(file.fileno()).st_size
        if path.name == _LIBRARY:
            problem = library_problem(head, machine=self._machine, size=size)
        else:
            problem = _preload_problem(head)
        if problem:
            raise HostError(
                f"{path} {problem}: put a fit one into --hami-assets, or the node into hard mode"
            )

    def _install(self, source: Path, path: Path) -> str:
        """Have *path* hold what *source* does, and return the checksum."""
        with _opened(source) as file:
            digest = file_digest(file, "sha256").hexdigest()
            file.seek(0)
            # Again: another file may be there by now, or other bytes in it.
            self._check(source, file)
            # Every user of every container must be able to read it, and nobody else to change it.
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o755 | 0o444
            if _digest(path) == digest:
                if stat.S_IMODE(path.stat().st_mode) != mode:
                    path.chmod(mode)
                return digest
            if path.is_dir() and not path.is_symlink():
                path.rmdir()  # what a runtime leaves where a mount's source was missing (HAMi E1)
            file.seek(0)
            replace_with_pieces(path, self._pieces(source, file, digest), mode=mode)
        log.info("soft asset installed", extra={"path": path, "sha256": digest})
        return digest

    def _pieces(self, source: Path, file: BufferedReader, digest: str) -> Iterator[bytes]:
        """Yield what is in *file*; HostError at the end where that is not what was looked at."""
        copied = sha256()
        for piece in iter(lambda: file.read(_PIECE), b""):
            copied.update(piece)
            yield piece
        if copied.hexdigest() != digest:
            raise HostError(
                f"{source} was changed while it was copied, so the host's own file stays: put it "
                "there by a rename; it is tried again"
            )

    # --- what was installed from here -------------------------------------------------------

    def _read_manifest(self) -> Mapping[str, str]:
        """Return the checksums of the files installed from here; a damaged manifest knows none."""
        try:
            document = json.loads(read_regular(self._root / _MANIFEST, limit=_LONGEST_TEXT))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            log.info("soft manifest damaged", extra={"path": self._root / _MANIFEST})
            return {}
        files = document.get("files") if isinstance(document, dict) else None
        if not isinstance(files, dict):
            return {}
        return {
            name: digest
            for name, digest in files.items()
            if _NAME.fullmatch(name) and isinstance(digest, str)
        }

    def _write_manifest(self, ours: Mapping[str, str]) -> None:
        path = self._root / _MANIFEST
        text = json.dumps({"format": _FORMAT, "files": dict(sorted(ours.items()))})
        remove_leftovers(path)
        replace_file(path, f"{text}\n".encode(), mode=0o644)

    def _remove_obsolete(self, ours: dict[str, str], *, keep: Container[str]) -> None:
        for name in [name for name in ours if name not in keep]:
            digest = ours.pop(name)
            path = self._root / name
            if _digest(path) == digest:  # else somebody has put another one there
                path.unlink()
                log.info("soft asset removed", extra={"path": path})


def _preload_problem(text: bytes) -> str:
    if len(text) > _LONGEST_TEXT:
        return f"has more than {_LONGEST_TEXT} bytes"
    lines = text.decode(errors="replace").split()
    return "" if _LOADED in lines else f"does not name {_LOADED}"


def _digest(path: Path) -> str | None:
    """Return the checksum of a regular file, None where there is none."""
    if path.is_symlink():
        return None
    try:
        with _opened(path) as file:
            return file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, ValueError):
        return None


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file of bearable size; ValueError where it is none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise ValueError(f"{path} is no regular file")
        if seen.st_size > _LARGEST:
            raise ValueError(f"{path} has more than {_LARGEST} bytes")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def _make_directory(path: Path, mode: int) -> None:
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(mode)  # mkdir would heed the umask
