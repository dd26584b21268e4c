"""A host whose files a test names."""

from collections.abc import Mapping, Sequence

from ascend_agent.model.allocation import DirectoryWant, PathKind


class FakeHost:
    """The paths that exist, directories with their entries, and the host's own mount list."""

    def __init__(
        self,
        *paths: str,
        directories: dict[str, tuple[str, ...]] | None = None,
        mounts: tuple[str, ...] | None = None,
    ) -> None:
        self.paths = set(paths)
        self.directories = directories or {}
        self.mounts = mounts

    async def existing(self, paths: Sequence[str]) -> frozenset[str]:
        return frozenset(path for path in paths if path in self.paths)

    async def entries(self, directory: DirectoryWant) -> tuple[str, ...]:
        return self.directories.get(directory.path, ())

    async def base_mounts(self) -> tuple[str, ...] | None:
        return self.mounts

    async def kinds(self, paths: Sequence[str]) -> Mapping[str, PathKind]:
        return {
            path: PathKind.DIRECTORY if path in self.directories else PathKind.FILE
            for path in paths
            if path in self.paths or path in self.directories
        }
