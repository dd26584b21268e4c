"""Access by a kubeconfig file, for an agent that was told to use one (CF-10).

The library's loader reads the file; it knows certificates, tokens, token files, passwords, exec
plugins that return a token, and the old auth-providers. Decided here: when things are read again,
and that whatever is wrong with the file comes out as one error that names it. Certificates given as
data land in private temporary files, since TLS contexts take nothing else.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ascend_agent.cluster.credentials import REREAD_S, Access, Tls, file_mark, read_token
from ascend_agent.cluster.lean import Library
from ascend_agent.errors import ClusterUnreachableError
from ascend_agent.runtime.regular import read_regular

_EARLY_S: Final = 60.0
_REMEDY: Final = "correct the file, or leave --kubeconfig out to use the pod's own account"


class Kubeconfig:
    """The current context of a kubeconfig file."""

    def __init__(self, *, path: Path, library: Library) -> None:
        self.origin = f"kubeconfig {path}"
        self._path = path
        self._library = library
        self._access: Access | None = None
        self._good_until = 0.0

    async def current(self) -> Access:
        """Return the access, read again when a minute has passed or a plugin's token ends."""
        if self._access is None or asyncio.get_running_loop().time() >= self._good_until:
            return await self.renew()
        return self._access

    async def renew(self) -> Access:
        """Read the file, and run its exec plugin if it has one.

        Raises:
            ClusterUnreachableError: the file, or what it names, can't be used.

        """
        reader = self._library.kubeconfig
        # The loader knows no errors of its own for most of what can be wrong with a file.
        wrong = (
            reader.ConfigException,
            OSError,
            ValueError,
            TypeError,
            LookupError,
            AssertionError,
            AttributeError,
            RuntimeError,
        )
        try:
            self._access, lasts_s = await self._read(reader)
        except wrong as error:
            why = f"{type(error).__name__}: {error}; {_REMEDY}"
            raise ClusterUnreachableError("read", str(self._path), why) from error
        self._good_until = asyncio.get_running_loop().time() + lasts_s
        return self._access

    async def _read(self, reader: Any) -> tuple[Access, float]:
        document = _parsed(reader.yaml, read_regular(self._path))
        if not isinstance(document, dict):
            raise ValueError("the file is no kubeconfig")  # noqa: TRY004 -- wrong content, not a wrong call
        # Without a user there is nothing to show, yet the loader looks into it.
        document.setdefault("users", [])
        loader = reader.KubeConfigLoader(
            config_dict=document, config_base_path=str(self._path.parent)
        )
        if loader._user is None:  # noqa: SLF001 -- the loader fails on a context without a user
            loader._user = reader.ConfigNode("user", {})  # noqa: SLF001 -- as above
        token_file = _token_file(loader, self._path.parent)
        if token_file is not None:
            read_token(token_file)  # before the loader does, which waits for ever at a pipe
        configuration = self._library.configuration()
        await loader.load_and_set(configuration)
        if not str(configuration.host).startswith(("http://", "https://")):
            raise ValueError(f"the cluster's server {configuration.host!r} is no http(s) address")
        lasts_s = _lasts_s(loader) if loader._user.safe_get("exec") else REREAD_S  # noqa: SLF001 -- no other way to tell
        return _access(configuration, token_file), lasts_s


def _parsed(yaml: Any, text: bytes | str) -> object:
    """Return what *text* says; the loader's own words of an error show the line, token and all."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise ValueError(f"the file is no YAML{where}") from None


def _access(configuration: Any, token_file: Path | None) -> Access:
    authorization = configuration.api_key.get("BearerToken")
    if token_file is not None:
        authorization = f"Bearer {read_token(token_file)}"
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    return Access(
        server=configuration.host,
        authorization=authorization,
        tls=Tls(
            authority=configuration.ssl_ca_cert,
            certificate=configuration.cert_file,
            key=configuration.key_file,
            name=configuration.tls_server_name,
            verify=configuration.verify_ssl,
            marks=tuple(file_mark(Path(file)) for file in files if file),
        ),
        proxy=configuration.proxy,
    )


def _token_file(loader: Any, base: Path) -> Path | None:
    """Return the token file of the context's user; a token in the file itself goes first."""
    user = loader._user  # noqa: SLF001 -- the loader keeps the last line end of such a file
    if user.safe_get("token") or user.safe_get("exec"):
        return None
    name = user.safe_get("tokenFile")
    return base / str(name) if name else None


def _lasts_s(loader: Any) -> float:
    """Return for how long an exec plugin's token is good; without an end only a 401 ends it."""
    expiry = getattr(loader, "exec_plugin_expiry", None)
    if expiry is None:
        return float("inf")
    left_s: float = (expiry - datetime.now(UTC)).total_seconds()
    return max(left_s - _EARLY_S, REREAD_S / 2)
