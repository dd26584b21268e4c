"""Logging: the standard library's, with facts as keys, lines that never block, a level that moves.

What is logged is decided where it happens; its form in ``formats``; how it leaves in ``pipe``.
"""

import atexit
import logging
from typing import Final, TextIO

from ascend_agent.errors import ConfigError
from ascend_agent.telemetry.formats import ConsoleFormatter, JsonFormatter
from ascend_agent.telemetry.pipe import LinePipe

log = logging.getLogger(__name__)

LEVELS: Final = ("debug", "info", "warning", "error", "critical")
STYLES: Final = {"json": JsonFormatter, "console": ConsoleFormatter}
_OURS: Final = "ascend_agent"
_FLUSH_S: Final = 1.0


class Logs:
    """Logging as ``configure`` set it up, until it is closed."""

    def __init__(self, handler: "_Handler") -> None:
        self._handler = handler
        self._before = {name: logging.getLogger(name).level for name in ("", _OURS)}
        logging.getLogger().addHandler(handler)
        atexit.register(self.close)

    @property
    def dropped(self) -> int:
        """Return how many lines were lost because nobody read them."""
        return self._handler.stream.dropped

    def set_level(self, level: str) -> None:
        """Log from *level* on, from now on; raises ConfigError where it is none of ``LEVELS``.

        Libraries speak from warning on: at debug hpack alone would say a line a header.
        """
        number = _number_of(level)
        logging.getLogger(_OURS).setLevel(number)
        logging.getLogger().setLevel(max(number, logging.WARNING))

    def close(self, *, within_s: float = _FLUSH_S) -> None:
        """Write what is queued, as long as somebody reads it, and stop; safe to repeat."""
        atexit.unregister(self.close)
        self._handler.stream.close(within_s=within_s)
        logging.getLogger().removeHandler(self._handler)
        for name, level in self._before.items():
            logging.getLogger(name).setLevel(level)
        self._before = {}


def configure(*, level: str, style: str, stream: TextIO) -> Logs:
    """Send all logging to *stream*; what is queued is written when the process ends.

    Raises:
        ConfigError: *level* is none of ``LEVELS``, or *style* none of ``STYLES``.

    """
    _number_of(level)
    if style not in STYLES:
        raise ConfigError(f"log style {style!r} is unknown; choose one of {', '.join(STYLES)}")
    handler = _Handler(LinePipe(stream, on_loss=_tell_loss))
    handler.setFormatter(STYLES[style]())
    logs = Logs(handler)
    logs.set_level(level)
    return logs


class _Handler(logging.StreamHandler[LinePipe]):
    """Formats on the caller's thread, since facts may change afterwards, and queues the line."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, ARG002 -- the library's signature
        """Count a record that can't be formatted; whoever logged it has better things to do."""
        self.stream.lose()


def _tell_loss(missed: int) -> None:
    log.warning("log lines dropped", extra={"missed": missed})


def _number_of(level: str) -> int:
    if level not in LEVELS:
        raise ConfigError(f"log level {level!r} is unknown; choose one of {', '.join(LEVELS)}")
    return logging.getLevelNamesMapping()[level.upper()]
