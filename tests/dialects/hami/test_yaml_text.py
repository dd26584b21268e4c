"""YAML of whoever may write it: plain values or a reason, never a surprise."""

import re

import pytest

from ascend_agent.dialects.hami.yaml_text import Section, Tree, first_of, read_yaml, shown


def section(text: str) -> Section:
    return Section(dict(read_yaml(text)), "top")


def test_scalars_stay_text_and_null_is_nothing() -> None:
    text = "a: 1\nb: ~\nc: '~'\nd: [x, 'null', null]\ne: {f: 0x10}\ng:"

    assert read_yaml(text) == {
        "a": "1",
        "b": None,
        "c": "~",
        "d": ["x", "null", None],
        "e": {"f": "0x10"},
        "g": None,
    }


def test_json_is_yaml() -> None:
    assert read_yaml('{"a": [{"b": "c"}]}') == {"a": [{"b": "c"}]}


def test_an_alias_is_the_value_itself() -> None:
    """So what is named a million times costs as much as once."""
    bomb = "a: &a [1, 2]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )

    tree = read_yaml(bomb)

    assert isinstance(tree["i"], list)
    assert tree["i"][0] is tree["h"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty; write keys"),
        ("# nothing", "is empty; write keys"),
        ("- a", "a list is no mapping; write keys"),
        ("word", "'word' is no mapping; write keys"),
        ("a: [", "is no YAML"),
        ("a: b: c", "line 1, column 5"),
        ("a\0: 1", "control characters"),
        ("a: \ud800", "is no UTF-8 text"),
        ("a: 1\n---\nb: 2", "line 2: a second document"),
        ("a: 1\na: 2", "line 2: key 'a' stands twice"),
        ("b:\n- c: 1\n  d: {}\n  c: 2", "line 4: key 'c' stands twice"),
        ("b: 1\n[a]: 1", "line 2: a key is no text"),
        ("~: 1", "line 1: a key is no text"),
        ("\na: *b", "line 2: alias *b has no value"),
        ("a: &a [*a]", "line 1: alias *a has no value"),
        ("[" * 1_000_000, "maximum nesting depth"),
        ("[" * 60 + "]" * 60, "too deeply"),
        ("a: [" + "1," * 50_000 + "]", "too many entries"),
        ("a: " + "x" * 1024 * 1024, "larger than 1 MiB"),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_mapping_of_bounded_size_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        read_yaml(text)


def test_what_a_program_wanted_built_is_a_text() -> None:
    assert read_yaml("a: !!python/object/apply:os.system [x]") == {"a": ["x"]}


def test_values_are_taken_by_type() -> None:
    found = section("t: word\nn: 16384\np: 1.6384e+04\nyes: on\nno: 'False'\nl: [a, 7]\nk: [0, 7]")

    assert found.text("t") == "word"
    assert found.text("n") == "16384"
    assert found.whole("n", low=0, high=99999) == 16384
    assert found.whole("p", low=0, high=99999) == 16384
    assert (found.flag("yes"), found.flag("no")) == (True, False)
    assert list(found.texts("l")) == ["a", "7"]
    assert list(found.wholes("k", high=9)) == [0, 7]


def test_what_is_absent_has_its_default() -> None:
    found = section("a: ~\nb: ''")

    assert (found.text("a", "x"), found.text("b", "x"), found.text("c", "x")) == ("x", "x", "x")
    assert found.whole("c", low=1, high=2, default=0) == 0
    assert found.flag("a") is None
    assert (found.entries("c"), found.texts("c"), found.wholes("c", high=1)) == ((), [], [])
    assert found.section("c") is None


@pytest.mark.parametrize(
    ("take", "why"),
    [
        (lambda s: s.text("none"), "top, none: is absent; give a text"),
        (lambda s: s.text("empty"), "top, empty: '' is not allowed; give a text"),
        (lambda s: s.text("list"), "top, list: a list is not allowed; give a text"),
        (lambda s: s.text("long"), "is not allowed; give a text of up to 253 characters"),
        (lambda s: s.matching("word", re.compile("x"), "give x"), "'abc' is not allowed; give x"),
        (lambda s: s.whole("none", low=0, high=1), "top, none: is absent; give a whole number"),
        (lambda s: s.whole("word", low=0, high=1), "'abc' is not allowed; give a whole number"),
        (lambda s: s.whole("minus", low=0, high=1), "'-1' is not allowed"),
        (lambda s: s.whole("big", low=0, high=1), "is not allowed; give a whole number, 0 to 1"),
        (lambda s: s.whole("part", low=0, high=9), "'1.5e0' is not allowed"),
        (lambda s: s.whole("map", low=0, high=9), "a mapping is not allowed"),
        (lambda s: s.flag("word"), "'abc' is not allowed; give true or false"),
        (lambda s: s.flag("list"), "a list is not allowed; give true or false"),
        (lambda s: s.entries("word"), "'abc' is not allowed; write a list"),
        (lambda s: s.entries("many"), "top, many: has more than 1000 entries"),
        (lambda s: s.texts("list"), "top, list: a list is not allowed; give texts"),
        (lambda s: s.texts("nothing"), "top, nothing: nothing is not allowed; give texts"),
        (lambda s: s.wholes("nothing", high=9), "top, nothing: nothing is not allowed; give whole"),
        (lambda s: s.wholes("list", high=9), "top, list: a list is not allowed; give whole"),
        (lambda s: s.wholes("high", high=9), "'10' is not allowed; give whole numbers, 0 to 9"),
        (lambda s: s.section("word"), "top, word: 'abc' is no mapping"),
        (lambda s: s.section("merge"), "top, merge: <<: is not understood here"),
    ],
)
def test_what_has_the_wrong_type_is_refused_with_place_value_and_remedy(
    take: object, why: str
) -> None:
    found = section(
        "empty: ''\nlist: [[a]]\nnothing: [~]\n"
        "word: abc\nminus: -1\nbig: 999999999999999999\npart: 1.5e0\n"
        f"map: {{}}\nhigh: [10]\nmerge: {{<<: {{}}}}\nlong: {'x' * 300}\nmany: [{'1,' * 1001}]"
    )

    assert callable(take)
    with pytest.raises(ValueError, match=re.escape(why)):
        take(found)


def test_a_key_that_nobody_asked_for_is_told() -> None:
    found = section("known: 1\nunknwon: 2")
    found.text("known")

    assert list(found.unknown()) == ["top: key 'unknwon' has no meaning; the keys are known"]


def test_a_long_or_strange_text_is_cut_and_escaped() -> None:
    assert shown("é\n" + "x" * 200) == "'\\xe9\\n" + "x" * 73


def test_the_first_warnings_are_told_and_how_many_more_there_are() -> None:
    assert first_of(["a", "b"]) == ("a", "b")
    assert first_of(["a"] * 60) == (*["a"] * 50, "10 more of the kind; correct these first")


@pytest.mark.parametrize(("value", "what"), [(None, "nothing"), (["a"], "a list")])
def test_a_section_that_is_no_mapping_is_named(value: Tree, what: str) -> None:
    """``- ~`` among the entries of a list is such a one."""
    with pytest.raises(ValueError, match=f"nodes, entry 3: {what} is no mapping; write keys"):
        Section(value, "nodes, entry 3")
