import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ascend_agent.errors import ConfigError
from ascend_agent.telemetry.logs import Logs, configure

log = logging.getLogger("ascend_agent.flows.example")


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no words")


LAST_WORDS = """
import logging, sys
from ascend_agent.telemetry.logs import configure
configure(level="info", style="json", stream=sys.stdout)
logging.getLogger("ascend_agent.x").info("last words")
"""


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def logs(stream: io.StringIO) -> Iterator[Logs]:
    made = configure(level="info", style="json", stream=stream)
    yield made
    made.close()


def lines(logs: Logs, stream: io.StringIO) -> list[dict[str, object]]:
    logs.close()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_events_and_facts_reach_the_stream(logs: Logs, stream: io.StringIO) -> None:
    log.info("allocated", extra={"npu": 3})

    (line,) = lines(logs, stream)

    assert (line["logger"], line["msg"], line["npu"]) == (log.name, "allocated", 3)


def test_the_console_style_is_for_people(stream: io.StringIO) -> None:
    logs = configure(level="info", style="console", stream=stream)
    log.info("allocated", extra={"npu": 3})
    logs.close()

    assert stream.getvalue().endswith("INFO     flows.example  allocated  npu=3\n")


def test_the_level_moves_at_run_time(logs: Logs, stream: io.StringIO) -> None:
    """OB-2: adjustable without a restart, which would lose what one wants to see."""
    log.debug("hidden")
    logs.set_level("debug")
    log.debug("shown")
    logs.set_level("error")
    log.warning("hidden again")

    assert [line["msg"] for line in lines(logs, stream)] == ["shown"]


def test_libraries_speak_from_warning_on(logs: Logs, stream: io.StringIO) -> None:
    logs.set_level("debug")
    logging.getLogger("hpack.hpack").debug("a line a header")
    logging.getLogger("grpclib.client").warning("odd frame %d", 7)
    logs.set_level("error")
    logging.getLogger("grpclib.client").warning("odd frame %d", 8)

    assert [line["msg"] for line in lines(logs, stream)] == ["odd frame 7"]


@pytest.mark.parametrize("level", ["loud", "", "INFO", "notset"])
def test_an_unknown_level_is_refused_by_name(logs: Logs, level: str) -> None:
    with pytest.raises(ConfigError, match=rf"log level '{level}' is unknown; choose one of debug"):
        logs.set_level(level)


@pytest.mark.parametrize(("level", "style"), [("loud", "json"), ("info", "xml")])
def test_what_is_refused_leaves_nothing_behind(level: str, style: str) -> None:
    before = list(logging.getLogger().handlers)

    with pytest.raises(ConfigError):
        configure(level=level, style=style, stream=io.StringIO())

    assert logging.getLogger().handlers == before


def test_closing_restores_what_was(stream: io.StringIO) -> None:
    """The simulation configures logging in a process that lives on: a test, a shell."""
    handlers = list(logging.getLogger().handlers)
    levels = [logging.getLogger(name).level for name in ("", "ascend_agent")]
    logs = configure(level="debug", style="json", stream=stream)
    logs.close()
    logs.close()

    assert logging.getLogger().handlers == handlers
    assert [logging.getLogger(name).level for name in ("", "ascend_agent")] == levels


def test_a_record_that_can_not_be_formatted_harms_nobody(
    logs: Logs, stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is counted and told; the library would print a traceback among the lines."""
    log.info("odd", extra={"fact": Mute()})
    log.info("next")

    assert [line["msg"] for line in lines(logs, stream)] == ["next", "log lines dropped"]
    assert logs.dropped == 1
    assert capsys.readouterr().err == ""


def test_a_loss_is_told_with_its_number(stream: io.StringIO) -> None:
    logs = configure(level="info", style="json", stream=stream)
    log.info("x" * 3000, extra={f"fact{number}": "x" * 4000 for number in range(300)})
    log.info("small")

    told = [line for line in lines(logs, stream) if line["msg"] == "log lines dropped"]

    assert [(line["level"], line["missed"]) for line in told] == [("warning", 1)]
    assert logs.dropped == 1


@pytest.mark.peer
def test_the_last_words_of_a_process_are_written() -> None:
    done = subprocess.run([sys.executable, "-c", LAST_WORDS], stdout=subprocess.PIPE, check=True)

    assert json.loads(done.stdout)["msg"] == "last words"
