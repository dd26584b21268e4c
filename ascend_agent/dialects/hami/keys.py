"""The names under which HAMi, the scheduler and this agent write to each other."""

from collections.abc import Iterable
from typing import Final

LOCK: Final = "hami.io/mutex.lock"
SOFT: Final = "hami-vnpu-core"
NODE: Final = "hami.io/vgpu-node"
BIND_TIME: Final = "hami.io/bind-time"
BIND_PHASE: Final = "hami.io/bind-phase"
MODE: Final = "huawei.com/vnpu-mode"
SOFT_MODE: Final = "hami-core"

ALLOCATING: Final = "allocating"
SUCCESS: Final = "success"
FAILED: Final = "failed"


def register(word: str) -> str:
    """Return the Node's key of the device list."""
    return f"hami.io/node-register-{word}"


def handshake(word: str) -> str:
    """Return the Node's key of the handshake."""
    return f"hami.io/node-handshake-{word}"


def to_allocate(word: str) -> str:
    """Return the pod's key of devices that are still to be handed out."""
    return f"hami.io/{word}-devices-to-allocate"


def allocated(word: str) -> str:
    """Return the pod's key of devices that the scheduler granted; it is never erased."""
    return f"hami.io/{word}-devices-allocated"


def allocated_words(keys: Iterable[str]) -> list[str]:
    """Return the words that have granted devices among *keys*; other vendors' are there too."""
    head, tail = allocated("|").split("|")
    return sorted(
        key.removeprefix(head).removesuffix(tail)
        for key in keys
        if key.startswith(head) and key.endswith(tail)
    )


def runtime_info(word: str) -> str:
    """Return the pod's key of what each device is to be used for."""
    return f"huawei.com/{word}"
