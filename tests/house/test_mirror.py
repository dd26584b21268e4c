"""Every module of the package has its test file at the same place, or a reason to have none."""

import ast
from pathlib import PurePath

import pytest

from tests.house.sources import PACKAGE, ROOT, Source, sources

pytestmark = pytest.mark.slow  # each reads the whole project

WITHOUT = {
    "ascend_agent/app.py": "tests/agent plays the whole agent, which is what it puts together",
    **dict.fromkeys(
        [
            f"ascend_agent/wiring/{part}.py"
            for part in ("api_server", "devices", "hami", "parts", "serving", "surroundings")
        ],
        "as app.py, of which it is a part",
    ),
}
SCENE = "pytestmark = pytest.mark.cluster"
BESIDE = {
    "tests/cluster/test_process.py": "how a scene's programs start and end, which needs none",
    "tests/driver/dcmi/test_weight.py": "what the binding costs the worker, all modules at once",
}


def place(module: str) -> str:
    """Return where the tests of *module* belong; those of a package stand in a file of its name."""
    path = PurePath(module)
    if path.name == "__init__.py":
        path = path.parent.with_suffix(".py")
    path = "tests" / path.with_name(f"test_{path.name}")
    return str(path).replace(f"/{PACKAGE.name}/", "/")


def does_something(source: Source) -> bool:
    """Return whether the module has a function with a body, rather than declarations alone."""
    functions = [
        node for node in source.walk() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return any(
        not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for function in functions
        for part in function.body
    )


def test_every_module_that_does_something_has_its_tests_at_the_same_place() -> None:
    modules = {source.name for source in sources("ascend_agent") if does_something(source)}

    missing = {module for module in modules if not (ROOT / place(module)).is_file()}

    assert missing == set(WITHOUT)


def test_every_test_file_has_its_module() -> None:
    """A test of something that has moved away tests nothing any more.

    A second file of one module's tests adds a word to the first one's name. A scene on real
    programs is of no module: it may lie in any folder.
    """
    folders = [path.name for path in PACKAGE.iterdir() if path.is_dir()]
    tests = [path for folder in folders for path in (ROOT / "tests" / folder).rglob("test_*.py")]
    tests = [path for path in tests if SCENE not in path.read_text()]
    names = [place(source.name).removesuffix(".py") for source in sources("ascend_agent")]
    homeless = {
        test
        for test in (str(path.relative_to(ROOT)) for path in tests)
        if not any(test == f"{name}.py" or test.startswith(f"{name}_") for name in names)
    }

    assert homeless == set(BESIDE)
