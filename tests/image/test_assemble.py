"""What the image takes from its base and from the environment; tests of the result are beside."""

import importlib.util
import marshal
from pathlib import Path

import pytest

from image.assemble import compile_all, is_unused, tidy


@pytest.mark.parametrize(
    "name",
    [
        *("ensurepip", "test", "idlelib", "turtle.py", "site-packages", "__pycache__"),
        *("config-3.13-x86_64-linux-gnu", "_tkinter.cpython-313-aarch64-linux-gnu.so"),
    ],
)
def test_what_the_agent_has_no_use_for_stays_behind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()

    assert is_unused(tmp_path / name)


@pytest.mark.parametrize("name", ["asyncio", "os.py", "_ctypes.cpython-313-x86_64-linux-gnu.so"])
def test_what_it_uses_comes_along(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()

    assert not is_unused(tmp_path / name)


def test_a_link_out_of_the_library_that_leads_nowhere_stays_behind(tmp_path: Path) -> None:
    """Debian links a site's own settings from /etc, where there may be none."""
    (tmp_path / "sitecustomize").symlink_to("/nowhere")

    assert is_unused(tmp_path / "sitecustomize")


def test_the_environment_keeps_one_program_and_its_interpreter(tmp_path: Path) -> None:
    for name in ("python", "python3.13", "ascend-agent", "activate", "pygmentize"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).touch()
    origin = tmp_path / "lib/python3.13/site-packages/ascend_agent-1.dist-info/direct_url.json"
    origin.parent.mkdir(parents=True)
    origin.touch()
    (tmp_path / "include").mkdir()

    tidy(tmp_path)

    kept = {path.name for path in (tmp_path / "bin").iterdir()}
    assert kept == {"python", "python3.13", "ascend-agent"}
    assert not origin.exists()
    assert not (tmp_path / "include").exists()


def test_bytecode_names_its_source_and_is_never_compared_with_it(tmp_path: Path) -> None:
    """PEP 552: bit 0 says that it goes by the source's hash, a clear bit 1 that nobody looks."""
    module = tmp_path / "usr/lib/module.py"
    module.parent.mkdir(parents=True)
    module.write_text("answer = 42")

    compile_all(tmp_path / "usr/lib", below=tmp_path)

    bytecode = Path(importlib.util.cache_from_source(module)).read_bytes()
    assert bytecode[4:8] == b"\1\0\0\0"
    assert marshal.loads(bytecode[16:]).co_filename == "/usr/lib/module.py"  # noqa: S302 -- ours


def test_a_module_that_can_not_be_compiled_ends_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "module.py").write_text("def")

    with pytest.raises(SyntaxError):
        compile_all(tmp_path, below=tmp_path)
    assert "module.py" in capsys.readouterr().out
