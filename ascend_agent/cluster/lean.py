"""Imports the few parts of kubernetes-asyncio that the agent uses, without the other 1,500 files.

The package's own ``__init__`` files import every model of every API: 1.8 s and 60 MiB. Here their
places are taken by empty packages before anything asks for them, so that ``ApiClient`` and
``Configuration`` come alone. Importing blocks for some 0.4 s: when and in which thread is left to
the caller. Where the real package is loaded already, that one is used.
"""

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from ascend_agent.errors import WiringError

if TYPE_CHECKING:
    from aiohttp import ClientError, ClientSession, ClientSSLError, ClientTimeout
    from kubernetes_asyncio.client.api_client import ApiClient
    from kubernetes_asyncio.client.configuration import Configuration

_PACKAGE: Final = "kubernetes_asyncio"
_EMPTY: Final = ("", ".client", ".client.models", ".config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What everything is done with; ``kubeconfig`` is the module that reads such files."""

    api_client: "type[ApiClient]"
    configuration: "type[Configuration]"
    session: "type[ClientSession]"
    transport_error: "type[ClientError]"
    tls_error: "type[ClientSSLError]"
    timeout: "type[ClientTimeout]"
    kubeconfig: Any


def load_library(*, kubeconfig: bool) -> Library:
    """Return the library, importing what it needs on the first call; blocks.

    With *kubeconfig* its reader of such files comes too, which another 25 modules hang on.
    """
    if _PACKAGE not in sys.modules:
        _stand_in()
    client = importlib.import_module(f"{_PACKAGE}.client")
    configuration = importlib.import_module(f"{_PACKAGE}.client.configuration").Configuration
    client.__dict__["Configuration"] = configuration
    api_client = importlib.import_module(f"{_PACKAGE}.client.api_client").ApiClient
    client.__dict__["ApiClient"] = api_client
    http = importlib.import_module("aiohttp")
    return Library(
        api_client=api_client,
        configuration=configuration,
        session=http.ClientSession,
        transport_error=http.ClientError,
        tls_error=http.ClientSSLError,
        timeout=http.ClientTimeout,
        kubeconfig=_load_reader() if kubeconfig else None,
    )


def _load_reader() -> Any:
    config = importlib.import_module(f"{_PACKAGE}.config")
    errors = importlib.import_module(f"{_PACKAGE}.config.config_exception")
    config.__dict__["ConfigException"] = errors.ConfigException
    return importlib.import_module(f"{_PACKAGE}.config.kube_config")


def _stand_in() -> None:
    """Put an empty package in the place of each whose ``__init__`` would import everything."""
    spec = importlib.util.find_spec(_PACKAGE)  # finding a package does not run it
    if spec is None or not spec.submodule_search_locations:
        raise WiringError(f"{_PACKAGE} is not installed: install the agent with its dependencies")
    (root,) = spec.submodule_search_locations
    for suffix in _EMPTY:
        name = f"{_PACKAGE}{suffix}"
        folder = f"{root}{suffix.replace('.', '/')}"
        module = ModuleType(name)
        module.__path__ = [folder]
        module.__package__ = name
        module.__spec__ = ModuleSpec(name, None, is_package=True)
        module.__spec__.submodule_search_locations = [folder]
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
