"""From which Debian packages the image's files are."""

from pathlib import Path

import pytest

from image.packages import carry_origins, owner, spellings
from image.tree import Tree


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/usr/lib/libc.so.6", ["/usr/lib/libc.so.6", "/lib/libc.so.6"]),
        ("/usr/sbin/ldconfig", ["/usr/sbin/ldconfig", "/sbin/ldconfig"]),
        ("/usr/share/x", ["/usr/share/x"]),
        ("/etc/x", ["/etc/x"]),
    ],
)
def test_a_file_is_looked_for_by_both_its_names(path: str, names: list[str]) -> None:
    """A package made before /usr was merged still says /lib."""
    assert spellings(Path(path)) == names


def test_licence_and_entry_of_each_package_come_along(tmp_path: Path) -> None:
    """A scanner finds by the entries which versions to look up; the licences want their texts."""
    tree = Tree(tmp_path / "result")
    file = Path("/sbin/ldconfig").resolve()

    found = carry_origins(tree, [file, Path("/usr/local/bin/python3"), file])

    assert found == ["libc-bin"] == [owner(file)]
    entry = (tree.root / "var/lib/dpkg/status.d/libc-bin").read_text()
    assert "\nVersion: " in entry
    assert "GNU" in (tree.root / "usr/share/doc/libc-bin/copyright").read_text()


def test_a_file_of_nobody_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="from no package"):
        carry_origins(Tree(tmp_path / "result"), [tmp_path / "stray"])
