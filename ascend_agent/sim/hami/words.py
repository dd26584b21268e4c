"""The names under which the scheduler reads and writes, said here a second time on purpose.

The agent has its own: were they shared, a wrong name would agree with itself.
"""

from typing import Any, Final

Json = dict[str, Any]
"""An object as the API server has it."""

SCHEDULER: Final = "hami-scheduler"
LOCK: Final = "hami.io/mutex.lock"
SOFT: Final = "hami-vnpu-core"
NODE: Final = "hami.io/vgpu-node"
FILTERED: Final = "hami.io/vgpu-time"
BIND_TIME: Final = "hami.io/bind-time"
BIND_PHASE: Final = "hami.io/bind-phase"
PREDICATED: Final = "predicate-time"
MODE: Final = "huawei.com/vnpu-mode"
SOFT_MODE: Final = "hami-core"
IGNORED: Final = "hami.io/webhook"


def register(word: str) -> str:
    """Return the Node's key of the device list."""
    return f"hami.io/node-register-{word}"


def handshake(word: str) -> str:
    """Return the Node's key of the handshake."""
    return f"hami.io/node-handshake-{word}"


def to_allocate(word: str) -> str:
    """Return the pod's key of devices still to hand out."""
    return f"hami.io/{word}-devices-to-allocate"


def allocated(word: str) -> str:
    """Return the pod's key of devices granted."""
    return f"hami.io/{word}-devices-allocated"


def runtime_info(word: str) -> str:
    """Return the pod's key of what each device is for."""
    return f"huawei.com/{word}"


def wanted(word: str) -> str:
    """Return the pod's key of the devices it wants."""
    return f"hami.io/use-{word}-uuid"


def unwanted(word: str) -> str:
    """Return the pod's key of the devices it must not get."""
    return f"hami.io/no-use-{word}-uuid"


def annotations_of(item: Json) -> dict[str, str]:
    """Return the annotations of an object."""
    found: dict[str, str] = item["metadata"].get("annotations") or {}
    return found


def is_soft(pod: Json) -> bool:
    """Return whether a pod asks for soft slices."""
    return annotations_of(pod).get(MODE) == SOFT_MODE
