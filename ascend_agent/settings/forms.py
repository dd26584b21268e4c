"""Forms of text that settings have: paths, addresses, names; each refusal says what to give.

Nothing here looks at the machine: whether a path is there is found out by who uses it.
"""

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

_LONGEST_SOCKET = 107  # bytes of a Unix socket's path
_LONGEST_PLUGIN_DIR = 75  # leaves room for the longest socket name below it
_LARGEST_PORT = 65535
_HTTP = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:]*):(?P<port>[0-9]{1,5})")
_API_SERVER = re.compile(r"https?://(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?")
_CONFIG_MAP = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NODE_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)


class HttpAddress(BaseModel):
    """Where the HTTP server listens; ``host`` None means every address of the host."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str | None
    port: int = Field(ge=0, le=_LARGEST_PORT, description="0 lets the system choose")


def _parse_http(value: object) -> object:
    """Return the address of ``ADDR:PORT``, ``[IPv6]:PORT`` or ``:PORT``."""
    if not isinstance(value, str):
        return value
    match = _HTTP.fullmatch(value)
    if match and int(match["port"]) <= _LARGEST_PORT:
        host = match["host"].strip("[]")
        if host in {"", "localhost"} or _is_ip(host):
            return HttpAddress(host=host or None, port=int(match["port"]))
    raise PydanticCustomError(
        "setting", "is no ADDR:PORT; give an IP address and a port, such as 127.0.0.1:9100 or :9100"
    )


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise PydanticCustomError("setting", "is no absolute path; start it with /")
    return path


def _socket_path(path: Path) -> Path:
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        raise PydanticCustomError(
            "setting",
            "is too long for a socket; use a path of at most {most} bytes",
            {"most": _LONGEST_SOCKET},
        )
    return path


def _plugin_dir(path: Path) -> Path:
    if len(os.fsencode(path)) > _LONGEST_PLUGIN_DIR:
        raise PydanticCustomError(
            "setting",
            "leaves no room for socket names; use a path of at most {most} bytes",
            {"most": _LONGEST_PLUGIN_DIR},
        )
    return path


def _node_name(name: str) -> str:
    if not _NODE_NAME.fullmatch(name):
        raise PydanticCustomError(
            "setting", "is no node name; give the name of this node as kubectl shows it"
        )
    return name


def _config_map(text: str) -> str:
    if not _CONFIG_MAP.fullmatch(text):
        raise PydanticCustomError(
            "setting",
            "is no NAMESPACE/NAME of a ConfigMap; it looks like kube-system/mindx-dl-fault-config",
        )
    return text


def _directories(text: str) -> str:
    if not all(part.startswith("/") for part in text.split(":")):
        raise PydanticCustomError(
            "setting", "names something else than absolute directories; join those with colons"
        )
    return text


def _api_server(url: str) -> str:
    if not _API_SERVER.fullmatch(url):
        raise PydanticCustomError(
            "setting", "is no address of an API server; it looks like https://10.96.0.1:443"
        )
    return url


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
SocketPath = Annotated[AbsolutePath, AfterValidator(_socket_path)]
PluginDirectory = Annotated[AbsolutePath, AfterValidator(_plugin_dir)]
NodeNameText = Annotated[str, AfterValidator(_node_name)]
ConfigMapName = Annotated[str, AfterValidator(_config_map)]
Directories = Annotated[str, AfterValidator(_directories)]
ApiServerUrl = Annotated[str, AfterValidator(_api_server)]
Listener = Annotated[HttpAddress | None, BeforeValidator(_parse_http)]
