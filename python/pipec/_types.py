"""The element types of the language, in the order of `pipe_type` in generated headers."""

from __future__ import annotations

import ctypes
from typing import NamedTuple, Optional, Tuple


class ElementType(NamedTuple):
    name: str
    size: int  # bytes
    ctype: type  # of a field of the argument struct
    typestr: str  # of array interfaces
    dlpack: Tuple[int, int]  # code and bits
    low: Optional[int]  # least and greatest value, of integers
    high: Optional[int]

    def __str__(self) -> str:
        return self.name


def _integer(name: str, ctype: type) -> ElementType:
    size = ctypes.sizeof(ctype)
    signed = name[0] == "i"
    typestr = ("|" if size == 1 else "<") + name[0] + str(size)
    high = 2 ** (8 * size - signed) - 1
    return ElementType(name, size, ctype, typestr, (0 if signed else 1, 8 * size), -high - 1 if signed else 0, high)


TYPES: Tuple[ElementType, ...] = (
    ElementType("bool", 1, ctypes.c_uint8, "|b1", (6, 8), None, None),
    _integer("int8", ctypes.c_int8),
    _integer("int16", ctypes.c_int16),
    _integer("int32", ctypes.c_int32),
    _integer("int64", ctypes.c_int64),
    _integer("uint8", ctypes.c_uint8),
    _integer("uint16", ctypes.c_uint16),
    _integer("uint32", ctypes.c_uint32),
    _integer("uint64", ctypes.c_uint64),
    ElementType("float16", 2, ctypes.c_uint16, "<f2", (2, 16), None, None),  # as its bits
    ElementType("float32", 4, ctypes.c_float, "<f4", (2, 32), None, None),
    ElementType("float64", 8, ctypes.c_double, "<f8", (2, 64), None, None),
)
BY_NAME = {t.name: t for t in TYPES}
BY_TYPESTR = {t.typestr: t for t in TYPES}
BY_DLPACK = {t.dlpack: t for t in TYPES}
