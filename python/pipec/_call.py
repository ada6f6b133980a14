"""Calls of one compiled pipeline.

A call with arrays of types, shapes and strides that were met before finds a Frame: an argument struct in which only
addresses and scalars are still to be written. Launch itself checks all arguments, so nothing is checked twice.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import operator
import struct
from ctypes import c_int32, c_int64, c_void_p
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _arrays, _cuda
from ._arrays import View
from ._errors import DeviceError
from ._interface import Buffer, Interface, Keywords, Scalar
from ._own import HOST
from ._tables import Tables
from ._types import BY_NAME

_ERROR_DEVICE = 10
_MOST_FRAMES = 256  # kinds of arrays that are remembered
MISSING = object()


class _Block:
    """Host memory for a workspace; pages begin at multiples of 64."""

    def __init__(self, size: int):
        self.size = (size + 0xFFFF) & ~0xFFFF
        self._pages = mmap.mmap(-1, self.size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))


# Of all pipelines: as many as calls run at the same time.
_blocks: List[_Block] = []


def _take_block(size: int) -> _Block:
    try:
        block = _blocks.pop()
    except IndexError:
        return _Block(size)
    return block if block.size >= size else _Block(size)


def release_workspaces() -> None:
    """Gives back the host memory that calls keep for later calls."""
    del _blocks[:]


def scalar_reader(p: Scalar) -> Callable[[Any], Any]:
    """From a value of Python to that of the struct's field. It raises TypeError and ValueError."""
    name, element = p.name, p.type

    def refuse(kind: type, value: Any, what: str) -> None:
        raise kind(f"`{name}` is {value!r}, but must be {what}")

    def read_bool(value: Any) -> int:
        if value is True or value is False:
            return int(value)
        if getattr(getattr(value, "dtype", None), "kind", "") == "b":
            return int(bool(value))
        refuse(TypeError, value, "True or False")
        return 0

    def read_int(value: Any) -> int:
        try:
            number = operator.index(value)
        except TypeError:
            refuse(TypeError, value, f"an integer ({element.name})")
        if not element.low <= number <= element.high:
            refuse(ValueError, value, f"from {element.low} to {element.high} ({element.name})")
        return number

    most = {"float16": 65504.0, "float32": 3.4028234663852886e38}.get(element.name, math.inf)

    def read_float(value: Any) -> float:
        if type(value) is not float:
            if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
                refuse(TypeError, value, f"a number ({element.name})")
            try:
                value = float(value)
            except (TypeError, OverflowError):
                refuse(ValueError, value, f"a number that {element.name} holds")
        if not -most <= value <= most and math.isfinite(value):
            refuse(ValueError, value, f"a number that {element.name} holds")
        return value

    if element.name == "bool":
        return read_bool
    if element.name == "float16":
        return lambda value: struct.unpack("<H", struct.pack("<e", read_float(value)))[0]
    return read_float if element.name.startswith("float") else read_int


class Frame:
    """Arguments for one kind of call. It belongs to one call at a time."""

    __slots__ = ("arguments", "address", "structs", "buffers", "scalars", "makers", "workspace")

    def __init__(self, kernel: "Kernel"):
        self.arguments = kernel.tables.arguments()
        self.address = ctypes.addressof(self.arguments)
        self.structs: Tuple[int, ...] = (self.address,)  # what launch takes first
        self.buffers = [c_void_p.from_buffer(self.arguments, b.data_offset) for b in kernel.tables.buffers]
        self.scalars = [
            reader.field.from_buffer(self.arguments, offset) for reader, offset in kernel.scalar_fields
        ]
        self.makers: List[Optional[Callable[[int], Any]]] = []  # by output; None: given, or not wanted
        self.workspace = 0


class _Field:
    def __init__(self, field: type, read: Callable[[Any], Any], default: Any):
        self.field, self.read, self.default = field, read, default


class Kernel:
    """A pipeline of a loaded library."""

    def __init__(self, tables: Tables, interface: Interface, names: Keywords):
        self.tables, self.interface, self.names = tables, interface, names
        self.on_gpu = tables.target == "cuda"
        self.buffers: Tuple[Buffer, ...] = interface.inputs + interface.outputs
        self.input_count = len(interface.inputs)
        self._resolve, self._launch = tables.resolve, tables.launch
        arguments = tables.arguments()
        self.scalar_fields: List[Tuple[_Field, int]] = []
        for p, info in zip(interface.parameters, tables.parameters):
            default = p.type.ctype.from_buffer(arguments, info.offset).value if info.has_default else MISSING
            self.scalar_fields.append((_Field(p.type.ctype, scalar_reader(p), default), info.offset))
        for name, info in zip(interface.sizes, tables.sizes):
            read = scalar_reader(Scalar(name, BY_NAME["int64"]))
            self.scalar_fields.append((_Field(c_int64, read, MISSING), info.offset))
        self._fields = [field for field, _ in self.scalar_fields]
        # Extents of outputs and of what is in the workspace may depend on these: sizes, and parameters of this type.
        self._in_extents = [i for i, field in enumerate(self._fields) if field.field in (c_int32, c_int64)]
        self._frames: Dict[Any, List[Frame]] = {}

    # -- what a call does ---------------------------------------------------------------------------------------------

    def call(self, views: Sequence[View], scalars: Sequence[Any], outs: Sequence[Optional[View]],
             given: Sequence[Any], shapes: Optional[Dict[int, Tuple[int, ...]]], stream: Optional[int],
             place: int) -> List[Any]:
        """`views` are the inputs, `scalars` the parameters and sizes (MISSING: the default), `outs` the outputs that
        the caller gave, as `given`; `shapes` extents of the others, by number; `place` where all of it is."""
        key = (place, *[(v.library, v.kind, v.shape, v.strides) for v in views],
               *[v and (v.library, v.kind, v.shape, v.strides) for v in outs],
               shapes and tuple(shapes.items()))
        for i in self._in_extents:
            value = scalars[i]
            key += (self._fields[i].default if value is MISSING else self._fields[i].read(value),)
        pool = self._frames.get(key)
        frame = None
        if pool is not None:
            try:
                frame = pool.pop()
            except IndexError:
                pass
        if frame is None:
            frame = self._new_frame(views, scalars, outs, shapes, place)
            if pool is None:
                if len(self._frames) >= _MOST_FRAMES:
                    self._frames.clear()
                pool = self._frames.setdefault(key, [])
        else:
            self._write_scalars(frame, scalars)
        buffers = frame.buffers
        for i, view in enumerate(views):
            buffers[i].value = view.address
        if place == HOST:
            results = self._run(frame, outs, given, 0, HOST)
        else:
            results = self._run_on_gpu(frame, views, outs, given, stream, place)
        pool.append(frame)
        return results

    def _write_scalars(self, frame: Frame, scalars: Sequence[Any]) -> None:
        for target, field, value in zip(frame.scalars, self._fields, scalars):
            target.value = field.default if value is MISSING else field.read(value)

    def _make_outputs(self, frame: Frame, outs: Sequence[Optional[View]], given: Sequence[Any],
                      stream: int) -> List[Any]:
        results = []
        for i, maker in enumerate(frame.makers):
            if maker is None:
                view = outs[i]  # None: not wanted
                result, address = given[i], view.address if view is not None else None
            else:
                result = maker(stream)
                address = _arrays.read(result).address
            frame.buffers[self.input_count + i].value = address
            results.append(result)
        return results

    def _run(self, frame: Frame, outs: Sequence[Optional[View]], given: Sequence[Any], stream: int,
             place: int) -> List[Any]:
        results = self._make_outputs(frame, outs, given, stream)
        size = frame.workspace
        if size == 0:
            status = self._launch(*frame.structs, None, 0, stream)
        else:
            try:
                block = _take_block(size)
            except (OSError, MemoryError):
                raise MemoryError(f"`{self.interface.name}` needs {size:,} bytes for what lies between its stages, and "
                                  "there is not as much memory") from None
            status = self._launch(*frame.structs, block.address, size, stream)
            _blocks.append(block)
        if status:
            self._fail(frame, status)
        return results

    def _run_on_gpu(self, frame: Frame, views: Sequence[View], outs: Sequence[Optional[View]], given: Sequence[Any],
                    wish: Optional[int], place: int) -> List[Any]:
        driver = _cuda.driver()
        arrays = [*views, *(v for v in outs if v is not None)]
        library = arrays[0].library if arrays else None
        stream = library.stream(place) if library is not None else None
        if stream is not None and wish is not None and wish != stream:
            raise ValueError(f"`{self.names.options[2]}` is given, but {library.name} has a current stream: "
                             "make yours the current one")
        if stream is None:
            written_on = next((v.stream for v in arrays if v.stream is not None), 0)
            stream = wish if wish is not None else written_on
        pushed = driver.enter(place)
        try:
            for v in arrays:
                # 0 and 1 are two names of one stream.
                if v.stream is not None and v.stream != stream and (v.stream or 1) != (stream or 1):
                    driver.order(v.stream, stream)
            results = self._make_outputs(frame, outs, given, stream)
            size = frame.workspace
            scratch = library.scratch(place, size, stream) if library is not None and size else None
            if size == 0:
                status = self._launch(*frame.structs, None, 0, stream)
            elif scratch is not None:
                status = self._launch(*frame.structs, scratch[0], size, stream)
            else:
                block = driver.allocate(place, size, stream)
                try:
                    status = self._launch(*frame.structs, block, size, stream)
                finally:
                    driver.free(place, block, stream)
        finally:
            if pushed:
                driver.leave()
        if status:
            self._fail(frame, status)
        return results

    # -- what the first call of its kind does --------------------------------------------------------------------------

    def _new_frame(self, views: Sequence[View], scalars: Sequence[Any], outs: Sequence[Optional[View]],
                   shapes: Optional[Dict[int, Tuple[int, ...]]], place: int) -> Frame:
        frame = Frame(self)
        for view, buffer, info in zip(views, self.buffers, self.tables.buffers):
            self._set_view(frame, buffer, info, view)
        for i, out in enumerate(outs):
            number = self.input_count + i
            buffer, info = self.buffers[number], self.tables.buffers[number]
            if out is not None:
                self._set_view(frame, buffer, info, out)
            elif shapes and i in shapes and buffer.rank:
                self._extents(frame, info, buffer.rank)[:] = shapes[i]
        self._write_scalars(frame, scalars)
        if self._resolve(frame.address) != 0:
            raise ValueError(self._sentence(frame))
        library = next((v.library for v in (*views, *outs) if v is not None), None) or _arrays.usual_library(place)
        for i, out in enumerate(outs):
            number = self.input_count + i
            buffer, info = self.buffers[number], self.tables.buffers[number]
            if out is not None:
                frame.makers.append(None)
                continue
            shape = tuple(self._extents(frame, info, buffer.rank)) if buffer.rank else ()
            frame.makers.append(library.maker(shape, buffer.type, buffer.order, place))
        frame.workspace = self.tables.workspace_size(frame.address)
        if frame.workspace == 2 ** (8 * ctypes.sizeof(ctypes.c_size_t)) - 1:
            raise ValueError(self._sentence(frame))
        return frame

    def shapes(self, inputs: Sequence[Tuple[int, ...]], scalars: Sequence[Any]) -> List[Tuple[Tuple[int, ...], ...]]:
        """Extents and strides of the outputs for inputs of these extents; parameters that stand in no extent may be
        MISSING."""
        frame = Frame(self)
        for shape, buffer, info in zip(inputs, self.buffers, self.tables.buffers):
            if buffer.rank:
                self._extents(frame, info, buffer.rank)[:] = shape
        for target, field, value in zip(frame.scalars, self._fields, scalars):
            if value is not MISSING:
                target.value = field.read(value)
        if self._resolve(frame.address) != 0:
            raise ValueError(self._sentence(frame))
        result = []
        for buffer, info in zip(self.buffers[self.input_count:], self.tables.buffers[self.input_count:]):
            strides = (c_int64 * max(buffer.rank, 1)).from_buffer(frame.arguments, info.stride_offset)
            extents = tuple(self._extents(frame, info, buffer.rank)) if buffer.rank else ()
            result.append((extents, tuple(strides)[:buffer.rank]))
        return result

    def _extents(self, frame: Frame, info: Any, rank: int) -> Any:
        return (c_int64 * rank).from_buffer(frame.arguments, info.extent_offset)

    def _set_view(self, frame: Frame, buffer: Buffer, info: Any, view: View) -> None:
        strides = self._checked_strides(buffer, view)
        if buffer.rank:
            self._extents(frame, info, buffer.rank)[:] = view.shape
            (c_int64 * buffer.rank).from_buffer(frame.arguments, info.stride_offset)[:] = strides

    def _checked_strides(self, buffer: Buffer, view: View) -> Tuple[int, ...]:
        element = _arrays.element_of(view)
        if element is not buffer.type:
            kind = element.name if element else view.library.kind_text(view.kind)
            raise TypeError(f"`{buffer.name}` is {kind}, but must be {buffer.type}: {buffer}; convert it "
                            f"(`.astype(\"{buffer.type}\")` in NumPy and CuPy, `.to(torch.{buffer.type})` in torch)")
        if len(view.shape) != buffer.rank:
            raise ValueError(f"`{buffer.name}` has {len(view.shape)} dimensions, but must have {buffer.rank}: {buffer}")
        if buffer.rank == 0:
            return ()
        try:
            return _arrays.strides_in_elements(view, element, buffer.order)
        except ValueError as error:
            raise ValueError(f"`{buffer.name}`: {error}") from None

    # -- what is said where a call fails ------------------------------------------------------------------------------

    def _sentence(self, frame: Frame) -> str:
        return self.tables.message(frame.arguments) or "the arguments do not fit the pipeline"

    def _fail(self, frame: Frame, status: int) -> None:
        if status & 0xFF == _ERROR_DEVICE and self.on_gpu:
            raise DeviceError(
                f"CUDA refused a kernel of `{self.interface.name}`: it must be compiled for this GPU, by an nvcc no "
                "newer than the driver; or an earlier kernel failed"
            )
        raise ValueError(self._sentence(frame))
