"""The rule for libraries, for the programs that the driver brings along: they run as we do."""

import os

from ascend_agent.driver.dcmi import trust
from ascend_agent.errors import HostError


def check_program(path: str, *, allow_unsafe: bool, lstat: trust.Lstat = os.lstat) -> str:
    """Return the resolved form of *path*, once only root can change what lies there.

    Raises:
        HostError: it is absent or may not be run; the text names path, reason and remedy.

    """
    try:
        lstat(path)
    except OSError as error:
        raise HostError(f"{path} is not there: {error.strerror}") from None
    try:
        return trust.check(path, allow_unsafe=allow_unsafe, lstat=lstat)
    except trust.RefusedError as refusal:
        raise HostError(str(refusal)) from None
