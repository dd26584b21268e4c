"""How to reach the API server and be let in: what credentials are, and those of a pod.

Decided here: when the files of a service account are read again (AP-2). Files given by a kubeconfig
are ``kubeconfig``'s; what is done with an ``Access`` is ``server``'s.
"""

import asyncio
import hashlib
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from ascend_agent.errors import ClusterUnreachableError
from ascend_agent.runtime.regular import read_regular

log = logging.getLogger(__name__)

REREAD_S: Final = 60.0
"""Seconds for which files count as read: the kubelet renews a token when a fifth of it is left."""

_LONGEST_TOKEN: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """What a TLS context is made of; *marks* change whenever one of the files does."""

    authority: str | None = None
    certificate: str | None = None
    key: str | None = None
    name: str | None = None
    verify: bool = True
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where the API server is and what to show it, as of one moment; never logged whole."""

    server: str
    authorization: str | None = field(repr=False)
    tls: Tls
    proxy: str | None = None


class Credentials(Protocol):
    """A source of access that follows its files."""

    origin: str
    """Where they come from, for people."""

    async def current(self) -> Access:
        """Return the access to use now; files are looked at again once they are a minute old.

        Raises:
            ClusterUnreachableError: there is nothing that could be used; names file and remedy.

        """

    async def renew(self) -> Access:
        """Look at everything again at once, because the server refused what we showed."""


class ServiceAccount:
    """The token and CA certificate that the kubelet keeps in the pod."""

    def __init__(self, *, server: str, directory: Path) -> None:
        self.origin = f"service account in {directory}"
        self._server = server
        self._directory = directory
        self._token = ""
        self._access: Access | None = None
        self._read_at = 0.0
        self._told = ""

    async def current(self) -> Access:
        """Return the last good token with today's CA; raises where there never was a token."""
        now = asyncio.get_running_loop().time()
        if self._access is None or now - self._read_at >= REREAD_S:
            return await self.renew()
        return self._access

    async def renew(self) -> Access:
        """Read both files; a token that can't be read leaves the last good one in place."""
        self._read_at = asyncio.get_running_loop().time()
        # A tmpfs of the pod's own: reading it never waits.
        self._take_token()
        authority = self._directory / "ca.crt"
        there = file_mark(authority)
        # Without the file the host's own authorities decide, which is right for some providers.
        tls = Tls(authority=str(authority), marks=(there,)) if there else Tls()
        self._access = Access(server=self._server, authorization=f"Bearer {self._token}", tls=tls)
        return self._access

    def _take_token(self) -> None:
        path = self._directory / "token"
        try:
            self._token = read_token(path)
        except (OSError, ValueError) as error:
            if not self._token:
                why = f"{error}; mount a service account token there, or give --kubeconfig"
                raise ClusterUnreachableError("read", str(path), why) from error
            if self._told != str(error):
                self._told = str(error)
                log.warning("token file unusable", extra={"path": str(path), "why": str(error)})
        else:
            self._told = ""


def read_token(path: Path) -> str:
    """Return the token in *path* without the blanks around it; raises OSError, ValueError."""
    token = read_regular(path).decode("ascii", "replace").strip()
    # Anything else would end up in a header, where aiohttp refuses it with a text that shows it.
    if not token or len(token) > _LONGEST_TOKEN or not all("!" <= char <= "~" for char in token):
        raise ValueError("the file holds no token")
    return token


def file_mark(path: Path) -> str:
    """Return what changes whenever the file does, empty where it can't be read."""
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except (OSError, ValueError):
        return ""
