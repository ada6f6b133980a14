"""DLPack: arrays of other libraries as addresses, and addresses as capsules for other libraries."""

from __future__ import annotations

import ctypes
from ctypes import (CFUNCTYPE, POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p,
                    py_object)
from typing import Any, Dict, Sequence, Tuple

from ._types import BY_DLPACK, ElementType

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("rank", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes, _get_pointer.restype = (py_object, c_char_p), c_void_p
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (c_void_p, c_char_p), c_int
_pointer_of_dying = CFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_Destructor = CFUNCTYPE(None, c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = (c_void_p, c_char_p, _Destructor), py_object


def look(capsule: Any) -> Tuple[int, Any, Tuple[int, ...], Tuple[int, ...]]:
    """Address, element type (or a text that says what it is), shape, strides in elements. The capsule stays the
    owner."""
    tensor = ctypes.cast(_get_pointer(capsule, b"dltensor"), POINTER(_Managed)).contents.tensor
    shape = tuple(tensor.shape[d] for d in range(tensor.rank))
    if tensor.strides:
        strides = tuple(tensor.strides[d] for d in range(tensor.rank))
    else:
        strides = dense_strides(shape, range(tensor.rank))
    element = BY_DLPACK.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    kind = element or f"DLPack type {tensor.code} of {tensor.bits} bits x {tensor.lanes}"
    return (tensor.data or 0) + tensor.byte_offset, kind, shape, strides


def dense_strides(shape: Sequence[int], order: Sequence[int]) -> Tuple[int, ...]:
    """In elements; `order` names the dimensions, outermost first."""
    strides, step = [0] * len(shape), 1
    for d in reversed(list(order)):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


# What capsules and the libraries that took them still hold, by address.
_alive: Dict[int, Tuple[Any, ...]] = {}


@_Deleter
def _delete(managed: Any) -> None:
    _alive.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _destroy(capsule: int) -> None:
    # A capsule that a library took has another name, and the library calls the deleter.
    if _is_valid(capsule, b"dltensor"):
        _alive.pop(_pointer_of_dying(capsule, b"dltensor"), None)


def capsule(owner: Any, address: int, element: ElementType, shape: Sequence[int], strides: Sequence[int],
            device: Tuple[int, int]) -> Any:
    """Memory as a capsule that keeps `owner` alive."""
    rank = len(shape)
    extents, steps = (c_int64 * max(rank, 1))(*shape), (c_int64 * max(rank, 1))(*strides)
    managed = _Managed()
    code, bits = element.dlpack
    managed.tensor = _Tensor(address, device[0], device[1], rank, code, bits, 1, extents, steps, 0)
    managed.deleter = _delete
    place = ctypes.addressof(managed)
    _alive[place] = (managed, extents, steps, owner)
    return _new(place, b"dltensor", _destroy)
