"""Every module of the package has its test file at the same place, or a reason to have none."""

from tests.house.sources import PACKAGE, ROOT, sources

WITHOUT = {
    "ascend_agent/__main__.py": "one call; tests/cli starts the program through it",
}


def test_file_of(module: str) -> str:
    """Return where the tests of *module* belong."""
    folder, _, name = module.removeprefix(f"{PACKAGE.name}/").rpartition("/")
    return f"tests/{folder}/test_{name}" if folder else f"tests/test_{name}"


test_file_of.__test__ = False  # type: ignore[attr-defined]


def test_every_module_has_its_tests_beside_the_others() -> None:
    modules = {source.name for source in sources("ascend_agent") if source.text.strip()}
    modules = {name for name in modules if not name.endswith("__init__.py")}

    missing = {module for module in modules if not (ROOT / test_file_of(module)).is_file()}

    assert missing == set(WITHOUT)


def test_every_test_file_has_its_module() -> None:
    """A test of something that has moved away tests nothing any more."""
    folders = [path.name for path in PACKAGE.iterdir() if path.is_dir()]
    tests = [path for folder in folders for path in (ROOT / "tests" / folder).rglob("test_*.py")]
    expected = {test_file_of(source.name) for source in sources("ascend_agent")}

    found = {str(path.relative_to(ROOT)) for path in tests}

    assert found <= expected
