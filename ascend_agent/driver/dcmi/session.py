"""The library in the words of one API generation, with a memory of what chips don't have.

What is decided here: what differs between the generations (``Generation``), and that a question
answered with -8255 is not put again to the same chip until the driver enumerates anew.
Which chips and which questions is left to the callers.
"""

from abc import ABC, abstractmethod

from ascend_agent.driver.dcmi import codes
from ascend_agent.driver.dcmi.library import Library

Chip = tuple[int, int, int]
"""Card, slot and logic id; card and slot are -1 on API v2."""

Result = dict[str, object]
"""Body of a reply frame: ``rc`` and the facts of the operation."""


class Generation(ABC):
    """One of the two sets of function names.

    ``calls`` maps what we want to know to the function that tells; what a generation can't tell
    is absent. ``required`` are the functions without which nothing useful can be done.
    """

    api: str
    init: str
    calls: dict[str, str]
    required: tuple[str, ...]
    die_type: int
    moves: bool
    """Whether a chip's address may become another chip's when the driver enumerates anew."""
    every_chip: tuple[int, ...]
    """Address that means all chips in a subscription."""

    @abstractmethod
    def address(self, chip: Chip) -> tuple[int, ...]:
        """Return the leading arguments that name *chip*."""

    @abstractmethod
    def list_chips(self, library: Library) -> Result:
        """Return the snapshot: chips, cards, lost_cards, failed. No hardware is touched."""


class Session:
    """The library after its init, asked about chips."""

    def __init__(self, library: Library, generation: Generation) -> None:
        self.library = library
        self.generation = generation
        self._absent: set[tuple[Chip, str, int]] = set()

    def forget(self) -> None:
        """Drop what is remembered of chips: after an init an address may be another chip's."""
        self._absent.clear()

    def name(self, what: str) -> str:
        """Return the C function for *what*, for messages; *what* itself if there is none."""
        return self.generation.calls.get(what, what)

    def call(self, what: str, *arguments: object) -> int:
        """Call the function for *what*; -8255 where this generation has none."""
        name = self.generation.calls.get(what)
        return codes.NOT_SUPPORTED if name is None else self.library.call(name, *arguments)

    def ask(self, what: str, chip: Chip, *arguments: object, variant: int = 0) -> int:
        """Ask *chip* for an optional fact, unless it answered -8255 before.

        *variant* tells questions apart that go to the same function.
        """
        question = (chip, what, variant)
        if question in self._absent:
            return codes.NOT_SUPPORTED
        rc = self.call(what, *self.generation.address(chip), *arguments)
        if rc == codes.NOT_SUPPORTED:
            self._absent.add(question)
        return rc

    def ask_always(self, what: str, chip: Chip, *arguments: object) -> int:
        """Ask *chip* for a fact that it must know, whatever it answered before."""
        return self.call(what, *self.generation.address(chip), *arguments)
