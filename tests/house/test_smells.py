"""The smells that a machine can find and the linter does not know."""

import ast
import re
from collections.abc import Sequence

import pytest

from tests.house.sources import Source, sources

pytestmark = pytest.mark.slow  # each reads the whole project

PACKAGE = "ascend_agent"
CATCH_ALL = {
    "ascend_agent/cli/main.py": "the end of the process, told as the interpreter would",
    "ascend_agent/doctor/examine.py": "a check that fails is a finding; the others still tell",
    "ascend_agent/driver/lanes.py": "the worker's edge: a failure becomes the call's reply",
    "ascend_agent/driver/outbox.py": "foreign bytes that mean nothing must not end the thread",
    "ascend_agent/kubelet/calls.py": "the edge to gRPC: a failure becomes a status",
    "ascend_agent/runtime/threads.py": "a thread's failure travels to whoever awaits it",
}
COUNTED_ELSEWHERE = {
    "ascend_agent/driver/lanes.py": "the agent sends a lane one call at a time",
    "ascend_agent/driver/news.py": "full at its own depth, which becomes a resync",
    "ascend_agent/driver/outbox.py": "full at its own depth, which becomes a notice of loss",
    "ascend_agent/driver/simulated/peer.py": "in-process stand-in: one call at most a caller",
    "ascend_agent/driver/turns.py": "one call at most for each caller that waits",
    "ascend_agent/runtime/threads.py": "one call at most for each caller that waits",
    "ascend_agent/runtime/topic.py": "full at the topic's depth, which becomes LaggedError",
}
LONG_MODULES = {
    "ascend_agent/cli/options.py": "a table: every option",
    "ascend_agent/interfaces.py": "the seams: a list of Protocols",
    "ascend_agent/driver/dcmi/abi.py": "tables: the vendor libraries' structures and functions",
}
MOST_LINES = 300
MOST_METHODS = 12
_NO_PLACE = {"utils", "util", "common", "constants", "consts", "helpers", "misc"}
_CHIP_NAME = re.compile(r"(Ascend)?(310|310B|310P|910|910A|910B|910C|910_93|950|A2|A3|A5)\d?")


def places(found: Sequence[tuple[Source, ast.AST]]) -> list[str]:
    return [f"{source.name}:{getattr(node, 'lineno', 0)}" for source, node in found]


def test_no_module_gathers_what_has_no_place() -> None:
    """God objects start as a file without a concern."""
    names = [source.name for source in sources(PACKAGE)]

    assert not [name for name in names if _NO_PLACE & set(re.split(r"[/.]", name))]


def test_a_long_module_has_its_reason() -> None:
    long = {source.name for source in sources(PACKAGE) if source.text.count("\n") > MOST_LINES}

    assert long == set(LONG_MODULES)


def test_no_class_is_as_wide_as_a_vendors_library() -> None:
    wide = [
        f"{source.name}: {node.name}"
        for source in sources(PACKAGE)
        for node in source.walk()
        if isinstance(node, ast.ClassDef)
        and sum(
            isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
            and not part.name.startswith("_")
            for part in node.body
        )
        > MOST_METHODS
    ]

    assert not wide


def test_any_exception_is_caught_at_the_edges_alone() -> None:
    """Elsewhere a catch-all swallows what nobody thought of; one that raises again does not."""
    found = {
        source.name
        for source in sources(PACKAGE)
        for node in source.walk()
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or re.search(r"\b(Base)?Exception\b", ast.unparse(node.type)))
        and ast.unparse(node.body[-1]) != "raise"
    }

    assert found == set(CATCH_ALL)


def test_chips_are_compared_in_their_folder_alone() -> None:
    """A chip is one new file; a comparison elsewhere would be the second."""
    found = [
        (source, node)
        for source in sources(PACKAGE)
        if not source.name.startswith("ascend_agent/chips/")
        for node in source.walk()
        if isinstance(node, ast.Compare | ast.MatchValue)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and _CHIP_NAME.fullmatch(str(part.value))
    ]

    assert not places(found)


def test_a_device_name_is_split_in_one_place() -> None:
    found = [
        (source, node)
        for source in sources(PACKAGE)
        if source.name != "ascend_agent/model/ids.py"
        for node in source.walk()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"split", "rsplit", "partition", "rpartition"}
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == "-"
    ]

    assert not places(found)


def test_every_task_of_the_agent_has_a_name() -> None:
    found = [
        (source, node)
        for source in sources(PACKAGE)
        for node in source.walk()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "create_task"
        and not any(keyword.arg == "name" for keyword in node.keywords)
    ]

    assert not places(found)


def test_a_queue_without_a_limit_says_what_bounds_it() -> None:
    queues = {"asyncio.Queue", "queue.Queue", "SimpleQueue", "queue.SimpleQueue", "deque"}
    found = {
        source.name
        for source in sources(PACKAGE)
        for node in source.walk()
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in queues
        and not node.args
        and not node.keywords
    }

    assert found == set(COUNTED_ELSEWHERE)


def test_no_test_waits_for_time_to_pass() -> None:
    """On virtual time a wait is free and exact; a real one is slow and a guess."""
    found = [
        (source, node)
        for source in sources("tests")
        for node in source.walk()
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "sleep"}
    ]

    assert not places(found)


def test_a_silenced_rule_says_which_and_why() -> None:
    noqa = re.compile(r"# noqa(?P<rest>.*)$", re.MULTILINE)
    reasoned = re.compile(r": [A-Z]+\d+(, [A-Z]+\d+)* -- \S")
    found = [
        f"{source.name}: {match[0]}"
        for folder in (PACKAGE, "tools", "tests", "benchmarks")
        for source in sources(folder)
        for match in noqa.finditer(source.text)
        if not reasoned.match(match["rest"])
    ]

    assert not [hit for hit in found if "test_smells.py" not in hit]


def test_an_empty_package_file_is_empty_where_the_worker_passes() -> None:
    """The worker imports them all; anything in there costs it time and memory."""
    names = {
        f"ascend_agent/{folder}__init__.py"
        for folder in ("", "driver/", "driver/dcmi/", "driver/simulated/")
    }
    found = {source.name: source.text for source in sources(PACKAGE) if source.name in names}

    assert found == dict.fromkeys(names, "")
