"""C text made from the binding's tables: the header of the fake, its stubs, the probe.

The tables in ``ascend_agent.driver.dcmi.abi`` are the only statement of the layout. What is made
here lets a C compiler check them: the header carries an assertion for every size and offset, and
the probe prints what the compiler really did. Nothing of this is ever edited by hand.
"""

from collections.abc import Iterable, Iterator

from ascend_agent.driver.dcmi.abi import ENUMS, FUNCTIONS, LIBDCMI, LIMITS, STRUCTS, VARIANTS

Layout = tuple[str, int, int, tuple[tuple[str, str, tuple[int, ...], int], ...]]


def layouts() -> dict[str, Layout]:
    """Return every structure by name, the variants of other headers included."""
    return {**STRUCTS, **{name: layout for name, (_, layout) in VARIANTS.items()}}


def functions(library: str = LIBDCMI) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the functions of *library*: name to (parameter, C type) pairs."""
    return {name: parameters for name, (home, parameters) in FUNCTIONS.items() if home == library}


def prototype(name: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Return the C prototype of one function, without the final semicolon."""
    return f"int {name}({', '.join(_declare(*each) for each in parameters) or 'void'})"


def header() -> str:
    """Return the header: enumerations, structures with their assertions, prototypes."""
    return "\n".join(
        [
            "/* Generated from the binding's tables by tests/fake_dcmi/header.py. */",
            "#ifndef DCMI_ABI_H",
            "#define DCMI_ABI_H",
            "#include <stddef.h>",
            "",
            *(f"#define {name.upper()} {value}" for name, value in LIMITS.items()),
            "",
            *_enumerations(),
            *_structures(),
            *(f"{prototype(name, each)};" for name, (_, each) in FUNCTIONS.items()),
            "#endif",
            "",
        ]
    )


def stubs() -> str:
    """Return a weak definition of every function, for those that the fake does not implement."""
    lines = ['#include "fake.h"', ""]
    for name, parameters in functions().items():
        lines += [
            f"__attribute__((weak)) {prototype(name, parameters)}",
            "{",
            *(f"    (void){parameter};" for parameter, _ in parameters),
            f"    return unsupported(__func__, {_address(parameters)});",
            "}",
            "",
        ]
    return "\n".join(lines)


def probe() -> str:
    """Return a program that prints one line a structure or field, as its compiler laid it out.

    Lines: ``struct NAME SIZE ALIGNMENT`` and ``field STRUCT NAME OFFSET SIZE``; ``enum NAME SIZE``.
    """
    lines = ["#include <stdio.h>", '#include "dcmi_abi.h"', "int main(void)", "{"]
    for name, (kind, _, _, fields) in layouts().items():
        type_ = f"{kind} {name}"
        lines.append(f'    printf("struct {name} %zu %zu\\n", sizeof({type_}), _Alignof({type_}));')
        lines += [
            f'    printf("field {name} {field} %zu %zu\\n",'
            f" offsetof({type_}, {field}), sizeof((({type_} *)0)->{field}));"
            for field, _, _, _ in fields
        ]
    lines += [f'    printf("enum {name} %zu\\n", sizeof(enum {name}));' for name in _enum_names()]
    return "\n".join([*lines, "    return 0;", "}", ""])


def _declare(name: str, type_: str) -> str:
    if "(*)" in type_:
        return type_.replace("(*)", f"(*{name})")
    return f"{type_}{'' if type_.endswith('*') else ' '}{name}"


def _enum_names() -> list[str]:
    return [name for name in ENUMS if name.startswith("dcmi_")]


def _enumerations() -> Iterator[str]:
    for name in _enum_names():
        members = ", ".join(f"{name.upper()}_{each} = {n}" for each, n in ENUMS[name].items())
        yield f"enum {name} {{ {members} }};"
        yield f'_Static_assert(sizeof(enum {name}) == 4, "enum {name}");'
    yield ""


def _structures() -> Iterator[str]:
    for name, (kind, size, alignment, fields) in layouts().items():
        type_ = f"{kind} {name}"
        yield f"{type_} {{"
        for field, field_type, dimensions, _ in fields:
            yield f"    {field_type} {field}{''.join(f'[{n}]' for n in dimensions)};"
        yield "};"
        yield f'_Static_assert(sizeof({type_}) == {size}, "sizeof {name}");'
        yield f'_Static_assert(_Alignof({type_}) == {alignment}, "alignment of {name}");'
        for field, _, _, offset in fields:
            yield f'_Static_assert(offsetof({type_}, {field}) == {offset}, "{name}.{field}");'
        yield ""


def _address(parameters: tuple[tuple[str, str], ...]) -> str:
    """Return how a stub names its chip to the gate: what to look up, and two numbers."""
    names = [name for name, type_ in parameters if type_ in {"int", "unsigned int"}]
    if names[:2] == ["card_id", "device_id"]:
        return "BY_SLOT, card_id, device_id"
    if names[:1] == ["card_id"]:
        return "BY_CARD, card_id, 0"
    if names[:1] == ["dev_id"]:
        return "BY_LOGIC, (int)dev_id, 0"
    return "NO_ADDRESS, 0, 0"
