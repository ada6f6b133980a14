"""The tables that generated libraries export (docs/generated-code.md), as Python sees them."""

from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p

from typing import Any

from ._errors import PipecError

VERSION = 1  # of the tables that this file describes


class BufferInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("rank", c_int),
        ("is_output", c_int),
        ("order", POINTER(c_int)),
        ("fixed_extent", POINTER(c_int64)),
        ("extent_text", POINTER(c_char_p)),
        ("data_offset", c_size_t),
        ("extent_offset", c_size_t),
        ("stride_offset", c_size_t),
    ]


class ScalarInfo(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("has_default", c_int), ("offset", c_size_t)]


class Info(ctypes.Structure):
    _fields_ = [
        ("version", c_int),
        ("name", c_char_p),
        ("buffer_count", c_int),
        ("buffers", POINTER(BufferInfo)),
        ("parameter_count", c_int),
        ("parameters", POINTER(ScalarInfo)),
        ("size_count", c_int),
        ("sizes", POINTER(ScalarInfo)),
        ("args_size", c_size_t),
        ("target", c_char_p),
        # Arguments are passed as plain addresses: a pointer object for each call would cost more than the call.
        ("defaults", CFUNCTYPE(None, c_void_p)),
        ("resolve", CFUNCTYPE(c_int32, c_void_p)),
        ("check", CFUNCTYPE(c_int32, c_void_p, c_char_p, c_size_t)),
        ("workspace_size", CFUNCTYPE(c_size_t, c_void_p)),
        ("launch", CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t, c_void_p)),
    ]


class WindowFields(ctypes.Structure):
    _fields_ = [("lo_offset", c_size_t), ("hi_offset", c_size_t)]


class WindowInfo(ctypes.Structure):
    _fields_ = [
        ("version", c_int),
        ("window_size", c_size_t),
        ("buffers", POINTER(WindowFields)),
        ("required", CFUNCTYPE(c_int32, c_void_p, c_void_p)),
        ("check_window", CFUNCTYPE(c_int32, c_void_p, c_void_p, c_char_p, c_size_t)),
        ("window_workspace_size", CFUNCTYPE(c_size_t, c_void_p, c_void_p)),
        ("launch_window", CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p)),
    ]


def _table(library: ctypes.CDLL, pipeline: str, suffix: str, kind: type) -> Any:
    """What the function NAME_suffix of a library returns; None where there is none."""
    for name in (pipeline, "p_" + pipeline):  # names that begin with `pipe` have a prefix in C
        function = getattr(library, name + suffix, None)
        if function is not None:
            break
    else:
        return None
    function.restype = POINTER(kind)
    table = function().contents
    if table.version != VERSION:
        raise PipecError(f"`{pipeline}` was generated for version {table.version} of the interface; this package knows "
                         f"version {VERSION}: generate it again")
    return table


class Tables:
    """One pipeline of a loaded library. The library stays loaded: OpenMP's threads may wait inside of it."""

    def __init__(self, path: str, pipeline: str):
        try:
            self.library = ctypes.CDLL(os.path.abspath(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            raise PipecError(f"cannot load the compiled pipeline: {error}") from None
        info = _table(self.library, pipeline, "_info", Info)
        if info is None:
            raise ValueError(f"{path} has no pipeline `{pipeline}`")
        self.info = info
        self.windows = _table(self.library, pipeline, "_window_info", WindowInfo)  # None: without --windows
        self.target = info.target.decode()
        self.buffers = [info.buffers[i] for i in range(info.buffer_count)]
        self.parameters = [info.parameters[i] for i in range(info.parameter_count)]
        self.sizes = [info.sizes[i] for i in range(info.size_count)]
        self.resolve, self.check = info.resolve, info.check
        self.workspace_size, self.launch = info.workspace_size, info.launch

    def arguments(self) -> ctypes.Array:
        """An argument struct with the defaults."""
        arguments = (ctypes.c_char * self.info.args_size)()
        self.info.defaults(ctypes.addressof(arguments))
        return arguments

    def message(self, arguments: ctypes.Array) -> str:
        """The sentence of `check` about the first thing that is wrong, or an empty one."""
        text = ctypes.create_string_buffer(2000)
        if self.check(ctypes.addressof(arguments), text, len(text)) == 0:
            return ""
        return text.value.decode(errors="replace")
