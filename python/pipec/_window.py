"""Windows: parts of the outputs, computed from the parts of the inputs that they need (docs/windows.md)."""

from __future__ import annotations

import ctypes
import functools
import math
from ctypes import c_int32, c_int64
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _arrays
from ._arrays import View
from ._call import Frame, Kernel
from ._errors import PipecError
from ._interface import Buffer, Interface, Keywords
from ._own import HOST
from ._tables import Tables

if TYPE_CHECKING:
    from ._function import Function

Shape = Tuple[int, ...]
Box = Tuple[Tuple[int, int], ...]  # by dimension: lo <= index < hi
OPTIONS = ("at", "out", "stream")  # keywords of a window's call

_NO_SIZE = 2 ** (8 * ctypes.sizeof(ctypes.c_size_t)) - 1


def is_empty(box: Box) -> bool:
    return any(lo == hi for lo, hi in box)


def shape_of(box: Box) -> Shape:
    return tuple(hi - lo for lo, hi in box)


def slices_of(box: Box) -> Tuple[slice, ...]:
    return tuple(slice(lo, hi) for lo, hi in box)


def read_box(buffer: Buffer, extents: Shape, window: Any) -> Box:
    """From slices, or pairs of a first and an end index. As in NumPy `...` stands for any number of whole dimensions,
    and those that are not mentioned are whole. Raises TypeError and ValueError."""
    name, rank = buffer.name, len(extents)
    parts = list(window) if isinstance(window, (tuple, list)) else [window]
    for i, part in enumerate(parts):
        if part is Ellipsis:
            parts[i:i + 1] = [slice(None)] * (rank - len(parts) + 1)
            break
    if len(parts) > rank:
        raise ValueError(f"`{name}`: the window has {len(parts)} dimensions, but there are {rank}: {buffer}")
    box = []
    for d, part in enumerate(parts + [slice(None)] * (rank - len(parts))):
        if isinstance(part, slice) and part.step in (None, 1):
            ends = (0 if part.start is None else part.start, extents[d] if part.stop is None else part.stop)
        elif isinstance(part, (tuple, list)) and len(part) == 2:
            ends = tuple(part)
        else:
            raise TypeError(f"`{name}`: the window in dimension {d} is {part!r}, but must be a slice without a step, "
                            "or a pair of indices")
        try:
            lo, hi = (e.__index__() for e in ends)
        except AttributeError:
            raise TypeError(f"`{name}`: the window in dimension {d} is from {ends[0]!r} to {ends[1]!r}, but must be "
                            "between integers") from None
        if not 0 <= lo <= hi <= extents[d]:
            raise ValueError(f"`{name}`: the window in dimension {d} is from {lo} to {hi}, but must lie in 0 to "
                             f"{extents[d]}")
        box.append((lo, hi))
    return tuple(box)


class _WindowFrame(Frame):
    """Arguments for one launch of a window."""

    __slots__ = ("window",)

    def __init__(self, kernel: "WindowKernel"):
        super().__init__(kernel)
        self.window = (ctypes.c_char * kernel.windows.window_size)()
        self.structs = (self.address, ctypes.addressof(self.window))


class WindowKernel(Kernel):
    """A pipeline of a library that has functions for windows."""

    def __init__(self, tables: Tables, interface: Interface, names: Keywords):
        super().__init__(tables, interface, names)
        if tables.windows is None:
            raise PipecError(f"`{interface.name}` was compiled without functions for windows: add `--windows`")
        self.windows = tables.windows
        self.fields = [self.windows.buffers[i] for i in range(len(self.buffers))]
        self._launch = self.windows.launch_window

    def frame(self, inputs: Sequence[Shape], scalars: Sequence[Any], outputs: Mapping[int, Shape]) -> _WindowFrame:
        """One with the extents of the whole images; `outputs` has those that no input determines, by number."""
        frame = _WindowFrame(self)
        for shape, buffer, info in zip(inputs, self.buffers, self.tables.buffers):
            if buffer.rank:
                self._extents(frame, info, buffer.rank)[:] = shape
        for i, shape in outputs.items():
            number = self.input_count + i
            if self.buffers[number].rank:
                self._extents(frame, self.tables.buffers[number], self.buffers[number].rank)[:] = shape
        self._write_scalars(frame, scalars)
        if self._resolve(frame.address) != 0:
            raise ValueError(self.tables.message(frame.arguments) or "the arguments do not fit the pipeline")
        return frame

    def extents(self, frame: Frame, number: int) -> Shape:
        rank = self.buffers[number].rank
        return tuple(self._extents(frame, self.tables.buffers[number], rank)) if rank else ()

    def fixed(self, number: int) -> Shape:
        """By dimension the extent where it is a constant, else 0."""
        return tuple(self.tables.buffers[number].fixed_extent[d] for d in range(self.buffers[number].rank))

    def set_box(self, frame: _WindowFrame, number: int, box: Optional[Box]) -> None:
        """None: nothing."""
        rank, fields = self.buffers[number].rank, self.fields[number]
        if rank == 0:
            if number >= self.input_count:
                c_int32.from_buffer(frame.window, fields.lo_offset).value = box is not None
            return
        ends = list(zip(*box)) if box is not None else ((0,) * rank, (0,) * rank)
        (c_int64 * rank).from_buffer(frame.window, fields.lo_offset)[:] = ends[0]
        (c_int64 * rank).from_buffer(frame.window, fields.hi_offset)[:] = ends[1]

    def box(self, frame: _WindowFrame, number: int) -> Box:
        rank, fields = self.buffers[number].rank, self.fields[number]
        if rank == 0:
            return ()
        return tuple(zip((c_int64 * rank).from_buffer(frame.window, fields.lo_offset),
                         (c_int64 * rank).from_buffer(frame.window, fields.hi_offset)))

    def required(self, frame: _WindowFrame) -> List[Box]:
        """Of the inputs, for the windows of the outputs that the frame has, which gets them too."""
        if self.windows.required(*frame.structs) != 0:
            raise ValueError(self._sentence(frame))
        return [self.box(frame, i) for i in range(self.input_count)]

    def launch(self, frame: _WindowFrame, views: Sequence[Optional[View]], outs: Sequence[Optional[View]],
               given: Sequence[Any], wanted: Mapping[int, Box], stream: Optional[int], place: int) -> List[Any]:
        """The outputs, None where one is not wanted. The frame has the windows of all buffers, and is used up."""
        for number, view in enumerate((*views, *outs)):
            i = number - self.input_count
            if view is not None and i >= 0 and i not in wanted:
                raise ValueError(f"`{self.buffers[number].name}` is given, but no window of it is wanted")
            if view is not None:
                self._place_view(frame, number, view)
        arrays = [v for v in views if v is not None]
        library = next((v.library for v in (*arrays, *outs) if v is not None), None) or _arrays.usual_library(place)
        for i, out in enumerate(outs):
            buffer = self.buffers[self.input_count + i]
            if i not in wanted or out is not None:
                frame.makers.append(None)
            else:
                frame.makers.append(library.maker(shape_of(wanted[i]), buffer.type, buffer.order, place))
                self._strides(frame, self.input_count + i, (0,) * buffer.rank)  # dense
        frame.workspace = self.windows.window_workspace_size(*frame.structs)
        if frame.workspace == _NO_SIZE:
            raise ValueError(self._sentence(frame))
        if place == HOST:
            return self._run(frame, outs, given, 0, HOST)
        return self._run_on_gpu(frame, arrays, outs, given, stream, place)

    def _place_view(self, frame: _WindowFrame, number: int, view: View) -> None:
        """Takes an array for a window: the frame's extents stay those of the whole image."""
        buffer, box = self.buffers[number], self.box(frame, number)
        strides = self._checked_strides(buffer, view)
        if buffer.rank:
            if tuple(view.shape) != shape_of(box):
                raise ValueError(f"`{buffer.name}` has the extents {tuple(view.shape)}, but its window has "
                                 f"{shape_of(box)}")
            self._strides(frame, number, strides)
        frame.buffers[number].value = view.address

    def _strides(self, frame: Frame, number: int, strides: Shape) -> None:
        if strides:
            offset = self.tables.buffers[number].stride_offset
            (c_int64 * len(strides)).from_buffer(frame.arguments, offset)[:] = strides

    def _sentence(self, frame: Frame) -> str:
        text = ctypes.create_string_buffer(2000)
        if self.windows.check_window(*frame.structs, text, len(text)) == 0:
            return "the arguments do not fit the pipeline"
        return text.value.decode(errors="replace")


class Whole:
    """The whole images of which windows are parts: their extents, and a call's scalars."""

    def __init__(self, kernel: WindowKernel, inputs: Sequence[Shape], scalars: Sequence[Any],
                 outputs: Mapping[int, Shape]):
        self.kernel = kernel
        # Makes an argument struct for each window, so that threads do not meet.
        self.frame: Callable[[], _WindowFrame] = functools.partial(kernel.frame, inputs, scalars, outputs)
        frame = self.frame()
        self.inputs = [tuple(shape) for shape in inputs]
        self.outputs = [kernel.extents(frame, kernel.input_count + i) for i in range(len(kernel.interface.outputs))]
        self._asked = frame  # for `required` alone

    def check(self, number: int, box: Box) -> None:
        """A window of an output has all of the dimensions whose extents are constants."""
        kernel = self.kernel
        for d, extent in enumerate(kernel.fixed(kernel.input_count + number)):
            if extent and not is_empty(box) and box[d] != (0, extent):
                raise ValueError(f"`{kernel.interface.outputs[number].name}`: the window in dimension {d} is from "
                                 f"{box[d][0]} to {box[d][1]}, but must be all of the constant extent, 0 to {extent}")

    def set_wanted(self, frame: _WindowFrame, wanted: Mapping[int, Box]) -> None:
        for i in range(len(self.outputs)):
            self.kernel.set_box(frame, self.kernel.input_count + i, wanted.get(i))

    def required(self, wanted: Mapping[int, Box]) -> List[Box]:
        """The windows of the inputs for windows of the outputs, by number. Not for several threads at a time."""
        self.set_wanted(self._asked, wanted)
        return self.kernel.required(self._asked)


class Window:
    """Parts of a pipeline's outputs. Calling it with the parts of the inputs that `required` names computes them.

    Made by the `window` of a pipeline; may be called from any number of threads.
    """

    required: Dict[str, Tuple[slice, ...]]
    """By input what is needed, as indices for the whole image; empty where nothing is."""
    outputs: Dict[str, Tuple[slice, ...]]
    """By output the window that is wanted."""

    def __init__(self, function: "Function", window: Any, inputs: Sequence[Shape], scalars: Sequence[Any],
                 outputs: Mapping[int, Shape], again: Tuple[Any, ...]):
        self._function, self._again = function, again
        self._inputs, self._scalars, self._output_shapes = inputs, scalars, outputs
        self._wholes: Dict[int, Whole] = {}  # by place
        self.whole = whole = self._whole(function._usual_place())
        self._wanted = self._read(whole, window)
        self.boxes = whole.required(self._wanted)
        interface = function.interface
        self.outputs = {interface.outputs[i].name: slices_of(box) for i, box in self._wanted.items()}
        self.required = {b.name: slices_of(box) for b, box in zip(interface.inputs, self.boxes)}
        names = set(function._names.inputs)
        self.options = [next(o + "_" * n for n in range(99) if o + "_" * n not in names) for o in OPTIONS]

    def _whole(self, place: int) -> Whole:
        whole = self._wholes.get(place)
        if whole is None:
            kernel = self._function._kernel(place, windows=True)
            whole = Whole(kernel, self._inputs, self._scalars, self._output_shapes)
            self._wholes[place] = whole
        return whole

    def _read(self, whole: Whole, window: Any) -> Dict[int, Box]:
        outputs = self._function.interface.outputs
        if not isinstance(window, Mapping):
            if len(outputs) > 1:
                raise TypeError(f"the window must be a dict: there are {len(outputs)} outputs, "
                                f"{', '.join(b.name for b in outputs)}")
            window = {outputs[0].name: window}
        numbers = {b.name: i for i, b in enumerate(outputs)}
        wanted = {}
        for name, part in window.items():
            if name not in numbers:
                raise ValueError(f"there is no output `{name}`: there is {', '.join(numbers)}")
            i = numbers[name]
            if part is not None:
                box = read_box(outputs[i], whole.outputs[i], part)
                whole.check(i, box)
                wanted[i] = box
        return wanted

    def __call__(self, *parts: Any, **named: Any) -> Any:
        """Computes the window from parts of the inputs, by position or by name. Options have names:

        at:     a dict, by input, of the windows that the parts are, where they are larger than `required` says
        out:    where results go, as in a call of the pipeline
        stream: a CUDA stream, for arrays of no library that has a current one
        """
        function, interface = self._function, self._function.interface
        at, out, stream = (named.pop(option, None) for option in self.options)
        values = self._bind(parts, named)
        given: Sequence[Any] = function._no_outs if out is None else function._outputs(out)
        outs = [None if o is None else function._read_output(i, o) for i, o in enumerate(given)]
        boxes = self._at(at)
        views: List[Optional[View]] = []
        for i, (value, box) in enumerate(zip(values, boxes)):
            # Where nothing of an input is needed, its array is not looked at.
            views.append(None if is_empty(box) else function._read(i, value))
        place = function._place(views, outs)
        whole = self._whole(place)
        frame = whole.frame()
        whole.set_wanted(frame, self._wanted)
        for i, box in enumerate(boxes):
            whole.kernel.set_box(frame, i, box)
        number = None if stream is None else function._stream(stream, place)
        results = whole.kernel.launch(frame, views, outs, given, self._wanted, number, place)
        return results[0] if len(interface.outputs) == 1 else function._result(*results)

    def _bind(self, parts: Sequence[Any], named: Dict[str, Any]) -> List[Any]:
        function = self._function
        names = function._names.inputs
        text = f"the window of {function.interface.name}()"
        if len(parts) > len(names):
            raise TypeError(f"{text} takes {len(names)} inputs, but {len(parts)} were given")
        values = dict(zip(names, parts))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"{text} has no argument `{name}`: it takes {', '.join(names) or 'none'}")
            if name in values:
                raise TypeError(f"{text} got `{name}` twice, by position and by name")
            values[name] = value
        for name, box in zip(names, self.boxes):
            if name not in values and not is_empty(box):
                raise TypeError(f"{text} needs `{name}`")
        return [values.get(name) for name in names]

    def _at(self, at: Optional[Mapping[str, Any]]) -> List[Box]:
        if not at:
            return self.boxes
        inputs = self._function.interface.inputs
        numbers = {b.name: i for i, b in enumerate(inputs)}
        boxes = list(self.boxes)
        for name, part in at.items():
            if name not in numbers:
                raise ValueError(f"`{self.options[0]}` has `{name}`, which is no input: there is {', '.join(numbers)}")
            i = numbers[name]
            boxes[i] = read_box(inputs[i], self._inputs[i], part)
        return boxes

    def __repr__(self) -> str:
        def text(boxes: Mapping[str, Tuple[slice, ...]]) -> str:
            return ", ".join(f"{name}[{', '.join(f'{s.start}:{s.stop}' for s in box)}]" for name, box in boxes.items())

        return f"<pipec.Window {text(self.outputs)} of {self._function.interface.name}, from {text(self.required)}>"

    def __reduce__(self) -> Tuple[Any, ...]:
        function, inputs, named = self._again
        return functools.partial(function.window, self.outputs, *inputs, **named), ()
