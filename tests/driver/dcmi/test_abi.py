"""The tables against what ctypes makes of them; a C compiler's verdict is the fake library's."""

import ctypes
import re

import pytest

from ascend_agent.driver.dcmi import abi, library

LAYOUTS = {**abi.STRUCTS, **{name: layout for name, (_, layout) in abi.VARIANTS.items()}}


@pytest.mark.parametrize("name", LAYOUTS)
def test_ctypes_lays_a_structure_out_as_the_table_says(name: str) -> None:
    """A wrong size lets the vendor's library write past our buffer (DCMI defect 2)."""
    _, size, alignment, fields = LAYOUTS[name]

    made = library.build(name, LAYOUTS[name])

    assert (ctypes.sizeof(made), ctypes.alignment(made)) == (size, alignment)
    assert {field: getattr(made, field).offset for field, _, _, _ in fields} == {
        field: offset for field, _, _, offset in fields
    }


@pytest.mark.parametrize("name", abi.STRUCTS)
def test_a_structure_comes_after_what_it_contains(name: str) -> None:
    """A C header made in the tables' order compiles."""
    names = list(abi.STRUCTS)
    contained = {
        c_type.split()[1]
        for _, c_type, _, _ in abi.STRUCTS[name][3]
        if c_type.startswith(("struct ", "union "))
    }

    assert all(names.index(part) < names.index(name) for part in contained)


@pytest.mark.parametrize("name", abi.FUNCTIONS)
def test_every_parameter_has_a_type_that_can_be_declared(name: str) -> None:
    home, parameters = abi.FUNCTIONS[name]

    declared = [library.parameter_type(c_type) for _, c_type in parameters]

    assert home in {abi.LIBDCMI, abi.LIBLINGQU}
    assert len({parameter for parameter, _ in parameters}) == len(declared)


def test_every_enumeration_of_a_function_is_listed() -> None:
    types = {c_type for _, parameters in abi.FUNCTIONS.values() for _, c_type in parameters}
    named = {match[1] for c_type in types if (match := re.search(r"enum (\w+)", c_type))}

    assert named <= abi.ENUMS.keys()


@pytest.mark.parametrize(
    ("function", "bytes_on_the_stack"),
    [
        ("dcmi_subscribe_fault_event", 48),
        ("dcmiv2_subscribe_fault_event", 48),
        ("lq_dcmi_subscribe_fault_event", 20),
    ],
)
def test_a_filter_is_passed_by_value(function: str, bytes_on_the_stack: int) -> None:
    """A pointer in its place would shift the handler, and the library would jump anywhere."""
    _, parameters = abi.FUNCTIONS[function]
    given = dict(parameters)["filter"]

    assert "*" not in given
    assert ctypes.sizeof(library.parameter_type(given)) == bytes_on_the_stack


def test_the_two_generations_order_their_list_arguments_differently() -> None:
    """Count, list, capacity in the first; list, count, capacity in the second."""
    first = [name for name, _ in abi.FUNCTIONS["dcmi_get_card_list"][1]]
    second = [name for name, _ in abi.FUNCTIONS["dcmiv2_get_device_list"][1]]

    assert first == ["card_num", "card_list", "list_len"]
    assert second == ["device_list", "device_cnt", "list_len"]


def test_a_ports_first_word_is_its_number_not_its_mode() -> None:
    """Another header takes the port number for a mode (DCMI defect 3)."""
    base, layout = abi.VARIANTS["dcmi_port_pkt_stats_info_mode"]

    assert abi.STRUCTS[base][3][0][0] == "port_id"
    assert layout[3][0][0] == "port_mode"
