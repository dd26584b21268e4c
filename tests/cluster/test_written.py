"""A stranger's edit is told once; our own, in whatever order it is seen, never."""

from ascend_agent.cluster.written import Written
from ascend_agent.model.cluster import ForeignEdit, MetadataField
from ascend_agent.model.ids import Millis, ObjectVersion

LABELS = MetadataField.LABELS


class Memory:
    """What was told, and the maps of an object at each version."""

    def __init__(self) -> None:
        self.told: list[ForeignEdit] = []
        self.written = Written(publish=self.told.append, now=lambda: Millis(5))

    def begin(self, value: str | None, *, key: str = "a", uid: str = "u") -> None:
        self.written.begin(uid, {(LABELS, key): value}, pod=None)

    def acknowledge(self, value: str | None, version: int, *, key: str = "a") -> None:
        values = {(LABELS, key): value}
        self.written.acknowledge("u", values, pod=None, version=ObjectVersion(str(version)))

    def see(self, version: int | str, **labels: str) -> None:
        shown = {LABELS: labels, MetadataField.ANNOTATIONS: {}}
        self.written.see("u", ObjectVersion(str(version)), shown)

    @property
    def found(self) -> list[str | None]:
        return [edit.found for edit in self.told]


def test_what_somebody_else_changed_is_told_once() -> None:
    memory = Memory()
    memory.acknowledge("1", 10)

    memory.see(11, a="2")
    memory.see(12, a="2", b="x")
    memory.see(13)

    assert memory.found == ["2", None]
    assert memory.told[0] == ForeignEdit(
        pod=None, field=LABELS, key="a", wrote="1", found="2", at_ms=Millis(5)
    )


def test_a_key_we_removed_that_comes_back_is_told() -> None:
    memory = Memory()
    memory.acknowledge(None, 10)

    memory.see(11, a="again")

    assert memory.found == ["again"]


def test_our_own_edit_coming_back_is_never_told() -> None:
    memory = Memory()
    memory.begin("1")
    memory.see(10, a="1")
    memory.acknowledge("1", 10)
    memory.see(9, a="old")
    memory.see(10, a="1")
    memory.begin("2")
    memory.see(11, a="1", b="x")
    memory.see(12, a="2")
    memory.acknowledge("2", 12)
    memory.see(12, a="2")

    assert memory.found == []


def test_before_the_first_answer_nothing_is_foreign() -> None:
    """The value that was there before our write is still seen for a while."""
    memory = Memory()
    memory.begin("1")

    memory.see(9, a="before")

    assert memory.found == []


def test_a_write_of_unknown_outcome_is_ours_either_way() -> None:
    memory = Memory()
    memory.acknowledge("1", 10)
    memory.begin("2")

    memory.see(11, a="2")
    memory.see(12, a="1")
    memory.see(13, a="3")

    assert memory.found == ["3"]


def test_an_edit_that_is_mended_and_made_again_is_told_again() -> None:
    memory = Memory()
    memory.acknowledge("1", 10)

    memory.see(11, a="2")
    memory.acknowledge("1", 12)
    memory.see(13, a="2")

    assert memory.found == ["2", "2"]


def test_versions_that_do_not_compare_prove_nothing() -> None:
    memory = Memory()
    memory.acknowledge("1", 10)

    memory.see("abc", a="2")

    assert memory.found == []


def test_what_was_let_go_is_nobodys_business() -> None:
    memory = Memory()
    memory.acknowledge("1", 10)
    memory.written.release("u", (LABELS, "a"))
    memory.written.release("other", (LABELS, "a"))
    memory.see(11, a="2")
    memory.acknowledge("1", 12)
    memory.written.forget("u")
    memory.written.forget("u")
    memory.see(13, a="2")

    assert memory.found == []


def test_the_memory_is_bounded() -> None:
    memory = Memory()
    memory.acknowledge("1", 10)
    for number in range(300):
        memory.acknowledge("1", 10, key=f"k{number}")
    memory.see(11)
    told = len(memory.told)
    for number in range(1100):
        memory.begin("1", uid=f"pod{number}")
    memory.see(12, a="2", k299="2")

    assert told == 256
    assert len(memory.told) == told


def test_what_is_adopted_is_ours_but_for_what_is_coming() -> None:
    """A write under way of another value must not look like a stranger's."""
    memory = Memory()
    memory.begin("2", key="b")
    values: dict[tuple[MetadataField, str], str | None] = {(LABELS, "a"): "1", (LABELS, "b"): "1"}
    memory.written.adopt("u", values, pod=None, version=ObjectVersion("10"))
    memory.written.adopt("u", {}, pod=None, version=ObjectVersion("10"))
    memory.written.adopt("other", {}, pod=None, version=ObjectVersion("10"))

    memory.see(11, a="theirs", b="2")

    assert [(edit.key, edit.found) for edit in memory.told] == [("a", "theirs")]


def test_where_others_write_in_turn_with_us_nobody_is_a_stranger() -> None:
    memory = Memory()
    memory.written.share([(LABELS, "a")])
    memory.acknowledge("1", 10)
    memory.acknowledge("1", 10, key="b")

    memory.see(11, a="2", b="2")

    assert [edit.key for edit in memory.told] == ["b"]


def test_only_so_many_places_are_shared_and_the_oldest_is_ours_alone_again() -> None:
    memory = Memory()
    memory.written.share((LABELS, str(number)) for number in range(65))
    memory.acknowledge("1", 10, key="0")
    memory.acknowledge("1", 10, key="1")

    memory.see(11)

    assert [edit.key for edit in memory.told] == ["0"]
