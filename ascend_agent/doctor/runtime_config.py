"""What the configuration of a container runtime says: which runtimes, which default, CDI or not.

Pure parsing of containerd's, Docker's and CRI-O's own files; unknown keys are passed over. What
follows for NPUs is decided in ``container_runtime``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_ASCEND: Final = "ascend-docker-runtime"
_CONTAINERD_TABLES: Final = (
    "io.containerd.cri.v1.runtime",  # containerd 2
    "io.containerd.grpc.v1.cri",  # containerd 1.x
    "cri",  # the oldest form
)
_NEWEST_FORM: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """One runtime's configuration.

    ``ascend`` are the names of the runtimes that are ascend-docker-runtime, ``default`` the name
    of the one that a pod without runtime class gets. ``cdi`` None: the file does not say;
    ``cdi_dirs`` empty: the runtime's own default.
    """

    product: str
    ascend: tuple[str, ...] = ()
    default: str = ""
    cdi: bool | None = None
    cdi_dirs: tuple[str, ...] = ()

    @property
    def ascend_by_default(self) -> bool:
        """Return whether every pod goes through ascend-docker-runtime."""
        return self.default in self.ascend


def parse_containerd(document: Mapping[str, object]) -> RuntimeConfig:
    """Return what ``config.toml`` says, imports already merged into it."""
    plugins = _table(document, "plugins")
    cri = next((found for name in _CONTAINERD_TABLES if (found := _table(plugins, name))), {})
    containerd = _table(cri, "containerd")
    runtimes = _table(containerd, "runtimes")
    ascend = [
        name
        for name in runtimes
        if _is_ascend(_table(_table(runtimes, name), "options").get("BinaryName"))
        or _is_ascend(_table(runtimes, name).get("runtime_path"))
    ]
    default = str(containerd.get("default_runtime_name") or "runc")
    if _is_ascend(_table(plugins, "io.containerd.runtime.v1.linux").get("runtime")):
        ascend.append(default)  # the way of control groups v1: instead of runc itself
    return RuntimeConfig(
        product="containerd",
        ascend=tuple(dict.fromkeys(ascend)),
        default=default,
        cdi=_switch(cri.get("enable_cdi"), otherwise=document.get("version") == _NEWEST_FORM),
        cdi_dirs=_texts(cri.get("cdi_spec_dirs")),
    )


def parse_docker(document: Mapping[str, object]) -> RuntimeConfig:
    """Return what ``daemon.json`` says."""
    runtimes = _table(document, "runtimes")
    return RuntimeConfig(
        product="docker",
        ascend=tuple(name for name in runtimes if _is_ascend(_table(runtimes, name).get("path"))),
        default=str(document.get("default-runtime") or "runc"),
        cdi=_switch(_table(document, "features").get("cdi"), otherwise=False),
        cdi_dirs=_texts(document.get("cdi-spec-dirs")),
    )


def parse_crio(document: Mapping[str, object]) -> RuntimeConfig:
    """Return what ``crio.conf`` says, drop-ins already merged into it; CDI is always on."""
    runtime = _table(_table(document, "crio"), "runtime")
    runtimes = _table(runtime, "runtimes")
    return RuntimeConfig(
        product="cri-o",
        ascend=tuple(
            name for name in runtimes if _is_ascend(_table(runtimes, name).get("runtime_path"))
        ),
        default=str(runtime.get("default_runtime") or "runc"),
        cdi=True,
        cdi_dirs=_texts(runtime.get("cdi_spec_dirs")),
    )


def merge(first: Mapping[str, object], second: Mapping[str, object]) -> Mapping[str, object]:
    """Return both documents in one; where they disagree the *second* wins, tables are joined."""
    merged = dict(first)
    for key, value in second.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]  # both says so
    return merged


def _table(parent: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = parent.get(key)
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list) else ()


def _switch(value: object, *, otherwise: bool) -> bool | None:
    """Return the switch as set; unset it is on where *otherwise*, and else unknown."""
    if isinstance(value, bool):
        return value
    return True if otherwise else None


def _is_ascend(path: object) -> bool:
    return isinstance(path, str) and path.rpartition("/")[2] == _ASCEND
