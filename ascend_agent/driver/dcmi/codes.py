"""Return codes of libdcmi.so, the binding's own ones, and what a caller can do about each.

What is decided here: English texts and the sets that say how to react, for the worker, which
speaks plain integers, and for ``driver.answers``, which makes typed errors of them.
Source: DCMI API, return codes.
"""

OK = 0
INVALID_PARAMETER = -8001
NOT_PERMITTED = -8002
NOT_READY = -8012
NOT_EXIST = -8008
OCCUPIED = -8020
NOT_SUPPORTED = -8255

# The binding's own: no C function answers these.
INVALID_ANSWER = -99996
UNLOAD_FAILED = -99997
SYMBOL_MISSING = -99998
LIBRARY_NOT_LOADED = -99999

TEXTS: dict[int, str] = {
    OK: "ok",
    INVALID_PARAMETER: "invalid parameter, or no such card or chip",
    NOT_PERMITTED: "not permitted for this user or in this virtual machine or container",
    -8003: "memory operation failed",
    -8004: "string or copy helper failed",
    -8005: "inner error",
    -8006: "timed out",
    -8007: "invalid device id",
    NOT_EXIST: "device does not exist",
    -8009: "ioctl failed",
    -8010: "sending a message failed",
    -8011: "receiving a message failed",
    NOT_READY: "not ready: the chip is lost or resetting",
    -8013: "not supported in a container, or device busy",
    -8014: "file operation failed",
    -8015: "reset failed",
    -8016: "cancelled",
    -8017: "upgrade in progress",
    OCCUPIED: "resource occupied",
    -8022: "partition mismatch",
    -8023: "configuration not found",
    NOT_SUPPORTED: "not supported on this product",
    INVALID_ANSWER: "the answer is out of its range",
    UNLOAD_FAILED: "library could not be unloaded",
    SYMBOL_MISSING: "the library has no such function: driver too old",
    LIBRARY_NOT_LOADED: "library could not be loaded",
}

NEXT_STEPS: dict[int, str] = {
    NOT_PERMITTED: "run the agent as root and privileged; in a virtual machine ask for this on the"
    " host",
    -8003: "look for a node without free memory",
    -8005: "usual causes: the driver is still loading, or its own files are mounted in part or from"
    " another release; see npu-smi info and the kernel log",
    -8006: "see npu-smi info and the kernel log; reset the chip if it stays so",
    -8008: "reset the card, or look whether it is seated; npu-smi info -l counts the cards",
    -8009: "look whether /dev/davinci_manager is there and is the driver's own: the library and the"
    " kernel driver must be of one release",
    -8010: "see the kernel log; reset the chip if it stays so",
    -8011: "see the kernel log; reset the chip if it stays so",
    NOT_READY: "wait while the chip resets; afterwards reset the card or restart the node",
    -8013: "run the agent in a privileged container, or wait until the chip is free",
    -8014: "look for a full or read-only file system; the driver's folders must be complete",
    -8015: "stop what uses the chip, then reset it again",
    -8017: "wait until the upgrade of the chip's firmware is over",
    OCCUPIED: "stop what holds the chip, or wait for it",
    -8022: "split the chip as its template says, or remove its partition",
    -8023: "install the driver and its firmware anew",
    SYMBOL_MISSING: "install a newer Ascend driver",
    LIBRARY_NOT_LOADED: "mount the host's driver folder, and name its lib64 with --library-path",
}
"""What an operator can do about a code; the others are not an operator's to mend."""

LOST = frozenset({NOT_READY, NOT_EXIST})
"""The driver no longer reaches the chip."""

BUSY = frozenset({-8017, OCCUPIED})
"""Ask again later: someone else works on the chip."""

ABSENT = frozenset({NOT_SUPPORTED, SYMBOL_MISSING})
"""Neither this product nor this driver release will answer: take another way, don't ask again."""


def describe(code: int) -> str:
    """Return what *code* means, in English."""
    return TEXTS.get(code, "unknown error code")


def advise(code: int) -> str:
    """Return what an operator can do about *code*; empty where that is nothing."""
    return NEXT_STEPS.get(code, "")
