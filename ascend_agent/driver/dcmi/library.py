"""The loaded vendor library: ctypes declarations built from the tables of ``abi`` as needed.

What is decided here: how a C type of the tables becomes a ctypes type, and what a missing symbol
answers. Which functions are called, in which order and on which thread, is left to the callers:
neither the vendor's library nor this layer serialises calls. Source: DCMI API.
"""

import ctypes
import os
from collections.abc import Callable
from threading import RLock

from ascend_agent.driver.dcmi import abi, codes
from ascend_agent.driver.dcmi.search import LibraryTroubleError

_SCALARS: dict[str, type] = {
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    # Plain char is signed on x86-64 and unsigned on aarch64; c_char arrays read as bytes on both.
    "char": ctypes.c_char,
    "unsigned char": ctypes.c_ubyte,
    "unsigned short": ctypes.c_ushort,
    "long": ctypes.c_long,
    "unsigned long": ctypes.c_ulong,
    "unsigned long long": ctypes.c_ulonglong,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}

_structures: dict[str, type[ctypes.Structure]] = {}
# Lanes are threads: two classes of one name would refuse each other's pointers.
_building = RLock()


def structure(name: str) -> type[ctypes.Structure]:
    """Return the ctypes class of structure *name*, always the same one; unions included."""
    with _building:
        if name not in _structures:
            _structures[name] = build(name, abi.STRUCTS[name])
        return _structures[name]


def build(
    name: str,
    layout: tuple[str, int, int, tuple[tuple[str, str, tuple[int, ...], int], ...]],
) -> type[ctypes.Structure]:
    """Return a new ctypes class with *layout*, a row of ``abi.STRUCTS``."""
    kind, _, _, rows = layout
    base: type = ctypes.Union if kind == "union" else ctypes.Structure
    fields = [(field, _sized(_value_type(c_type), dims)) for field, c_type, dims, _ in rows]
    made: type[ctypes.Structure] = type(name, (base,), {"_fields_": fields})
    return made


def text(raw: bytes | ctypes.Array[ctypes.c_char] | ctypes.Array[ctypes.c_ubyte]) -> str:
    """Return a C string: the bytes up to the first NUL or the end, undecodable ones replaced."""
    return bytes(raw).partition(b"\0")[0].decode(errors="replace")


def callback_type(c_type: str) -> type:
    """Return the ctypes class of a ``void (*)(struct X *)`` parameter; it gets a plain address."""
    if c_type != f"void (*)(struct {c_type.split()[-2]} *)":
        raise ValueError(f"{c_type} is no callback of the tables")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _sized(element: type, dims: tuple[int, ...]) -> type:
    for count in reversed(dims):
        element = element * count  # type: ignore[assignment,operator]
    return element


def _value_type(c_type: str) -> type:
    if c_type.startswith("enum "):
        return ctypes.c_uint
    if c_type.startswith(("struct ", "union ")):
        return structure(c_type.split()[1])
    return _SCALARS[c_type]


def parameter_type(c_type: str) -> type:
    """Return the ctypes class that checks an argument of *c_type*, a type of ``abi.FUNCTIONS``."""
    c_type = c_type.removeprefix("const ")
    if "(*)" in c_type:
        return callback_type(c_type)
    if c_type == "void *":
        return ctypes.c_void_p
    if c_type == "char *":
        return ctypes.c_char_p
    if c_type.endswith(" *"):
        with _building:
            return ctypes.POINTER(_value_type(c_type.removesuffix(" *")))
    return _value_type(c_type)


class Library:
    """One loaded library; each function gets its declaration when it is first called.

    It is never unloaded: after a subscription one of its threads would return into nothing.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._functions: dict[str, Callable[..., int] | None] = {}
        try:
            # ctypes adds RTLD_NOW; lazy binding is asked for in case that ever changes.
            self._handle = ctypes.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_GLOBAL)
        except OSError as error:
            raise LibraryTroubleError(
                "unloadable",
                f"{path} can't be loaded: {error}; check that it is made for this machine and"
                " that the libraries it needs are on --library-path (or LD_LIBRARY_PATH).",
            ) from error

    def has(self, name: str) -> bool:
        """Return whether the library exports *name*, a row of ``abi.FUNCTIONS``."""
        return self._find(name) is not None

    def call(self, name: str, *arguments: object) -> int:
        """Call *name* and return its code; -99998 where the library has no such function.

        The interpreter lock is released meanwhile.
        """
        function = self._find(name)
        return codes.SYMBOL_MISSING if function is None else function(*arguments)

    def _find(self, name: str) -> Callable[..., int] | None:
        if name not in self._functions:
            self._functions[name] = self._declare(name)
        return self._functions[name]

    def _declare(self, name: str) -> Callable[..., int] | None:
        _, parameters = abi.FUNCTIONS[name]
        try:
            function = self._handle[name]
        except AttributeError:
            return None
        function.argtypes = [parameter_type(c_type) for _, c_type in parameters]
        function.restype = ctypes.c_int
        return function
