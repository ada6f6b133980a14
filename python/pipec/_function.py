"""Function: a pipeline that Python calls."""

from __future__ import annotations

import collections
import dataclasses
import errno
import functools
import html
import json
import os
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _arrays, _compiler, _cuda
from ._arrays import View
from ._call import MISSING, Kernel
from ._compiler import Program
from ._errors import PipecError
from ._interface import (Interface, documentation, from_description, from_tables, keywords, result_names, signature)
from ._own import HOST
from ._phases import Phase, phases
from ._tables import Tables
from ._window import Window, WindowKernel

PathLike = Union[str, "os.PathLike[str]"]


class Function:
    """A pipeline. Calling it runs it; `help()` of it says what it takes. Made by compile, source and load."""

    def __init__(self, interface: Interface, program: Optional[Program], target: Optional[str], device: Optional[int],
                 row: Optional[Dict[str, Any]] = None):
        """`row` is the compiler's description of the program's pipeline."""
        self.interface = interface
        self.target = target
        self.device = device
        self._program, self._row = program, row or {}
        self._loaded: Optional[Tables] = None  # where there is no program
        self._path = ""  # of that
        self._carried: Optional[Tuple[Any, ...]] = None
        self._no_outs: Sequence[Any] = (None,) * len(interface.outputs)
        self._names = names = keywords(interface)
        self._input_count = len(interface.inputs)
        self._scalar_count = len(interface.parameters) + len(interface.sizes)
        self._output_count = len(interface.outputs)
        order = names.inputs + names.parameters + names.sizes + names.options
        self._slots = {name: i for i, name in enumerate(order)}
        self._empty = [MISSING] * (len(order) - 3) + [None] * 3
        required = [True] * self._input_count + [p.default is None for p in interface.parameters]
        self._required = [i for i, wanted in enumerate(required + [True] * len(interface.sizes)) if wanted]
        self._result = collections.namedtuple(f"{interface.name.lstrip('_') or 'pipeline'}_result",
                                              result_names(interface))
        self._kernels: Dict[int, Kernel] = {}  # by place
        self._windowed: Dict[int, WindowKernel] = {}
        self._lock = threading.Lock()
        self._page: Optional[str] = None
        self._known_phases: Optional[List[Phase]] = None
        self.__name__ = self.__qualname__ = interface.name
        self.__doc__ = documentation(interface, names)
        self.__signature__ = signature(interface, names)

    # -- calling ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the pipeline: inputs, then parameters, by position or by name; sizes and options by name."""
        values = self._bind(args, kwargs)
        n = self._input_count
        out, shape, stream = values[-3:]
        outs: Sequence[Optional[View]] = self._no_outs
        given: Sequence[Any] = self._no_outs
        read = self._read
        views = [read(i, value) for i, value in enumerate(values[:n])]
        if out is not None:
            given = self._outputs(out)
            outs = [None if o is None else self._read_output(i, o) for i, o in enumerate(given)]
        place = self._place(views, outs)
        kernel = self._kernels.get(place) or self._kernel(place)
        shapes = None if shape is None else self._shapes(shape)
        if stream is not None:
            stream = self._stream(stream, place)
        results = kernel.call(views, values[n:n + self._scalar_count], outs, given, shapes, stream, place)
        return results[0] if self._output_count == 1 else self._result(*results)

    def _bind(self, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> List[Any]:
        count = len(args)
        if count > self._names.positional:
            raise TypeError(f"{self.interface.name}() takes {self._names.positional} arguments by position, but "
                            f"{count} were given: {self.interface}")
        values = list(args)
        values += self._empty[count:]
        for name, value in kwargs.items():
            slot = self._slots.get(name)
            if slot is None:
                # As the program has it, where Python or another name has taken that.
                slot = self._slots.get(name + "_") if name.isidentifier() else None
            if slot is None:
                raise TypeError(f"{self.interface.name}() has no argument `{name}`: {self.interface}")
            if slot < count:
                raise TypeError(f"{self.interface.name}() got `{name}` twice, by position and by name")
            values[slot] = value
        for slot in self._required:
            if values[slot] is MISSING:
                name = next(n for n, s in self._slots.items() if s == slot)
                raise TypeError(f"{self.interface.name}() needs `{name}`: {self.interface}")
        return values

    def _read(self, number: int, value: Any) -> View:
        try:
            return _arrays.read(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"`{self.interface.inputs[number].name}`: {error}") from None

    def _read_output(self, number: int, value: Any) -> View:
        name = self.interface.outputs[number].name
        try:
            view = _arrays.read(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"`{name}`: {error}") from None
        if view.read_only:
            raise ValueError(f"`{name}` is read-only, but results are written to it: give another array, or none")
        return view

    def _outputs(self, out: Any) -> List[Any]:
        outputs, name = self.interface.outputs, self._names.options[0]
        if len(outputs) == 1 and not isinstance(out, (dict, tuple, list)):
            return [out]
        names = [b.name for b in outputs]
        if isinstance(out, Mapping):
            for wrong in set(out) - set(names):
                raise ValueError(f"`{name}` has `{wrong}`, which is no output: there is {', '.join(names)}")
            return [out.get(n) for n in names]
        if isinstance(out, (tuple, list)):
            if len(out) != len(outputs):
                raise ValueError(f"`{name}` has {len(out)} arrays, but there are {len(outputs)} outputs: "
                                 f"{', '.join(names)}")
            return list(out)
        raise TypeError(f"`{name}` must be a dict or a sequence of arrays: there are {len(outputs)} outputs, "
                        f"{', '.join(names)}")

    def _shapes(self, shape: Any) -> Dict[int, Tuple[int, ...]]:
        outputs, name = self.interface.outputs, self._names.options[1]
        if not isinstance(shape, Mapping):
            if len(outputs) > 1:
                raise TypeError(f"`{name}` must be a dict: there are {len(outputs)} outputs")
            shape = {outputs[0].name: shape}
        result = {}
        numbers = {b.name: i for i, b in enumerate(outputs)}
        for key, extents in shape.items():
            if key not in numbers:
                raise ValueError(f"`{name}` has `{key}`, which is no output: there is {', '.join(numbers)}")
            extents = (extents,) if isinstance(extents, int) else tuple(int(e) for e in extents)
            buffer = outputs[numbers[key]]
            if len(extents) != buffer.rank:
                raise ValueError(f"`{name}` of `{key}` has {len(extents)} extents, but must have {buffer.rank}: "
                                 f"{buffer}")
            if not all(0 < e < 2**30 for e in extents):
                raise ValueError(f"`{name}` of `{key}` is {extents}, but extents are from 1 to 2^30 - 1")
            result[numbers[key]] = extents
        return result

    def _stream(self, stream: Any, place: int) -> int:
        if place == HOST:
            raise ValueError(f"`{self._names.options[2]}` is for a GPU, but the arrays are in host memory")
        return _cuda.stream_handle(stream)

    # -- where ------------------------------------------------------------------------------------------------------

    def _place(self, views: Sequence[Optional[View]], outs: Sequence[Optional[View]]) -> int:
        place: Optional[int] = None
        for i, view in enumerate((*views, *outs)):
            if view is None:
                continue
            if place is None:
                place, first = view.place, i
            elif view.place != place:
                names = [b.name for b in (*self.interface.inputs, *self.interface.outputs)]
                raise ValueError(f"`{names[first]}` is {_where(place)} and `{names[i]}` {_where(view.place)}: all "
                                 "arrays of a call must be in one memory")
        if place is None:
            place = (self.device or 0) if self.target == "cuda" else HOST
        name = self.interface.name
        if self.target == "host" and place != HOST:
            raise ValueError(f"the arrays are {_where(place)}, but `{name}` was compiled for the host: copy them to "
                             "host memory, or compile it with target=\"cuda\" or without a target")
        if self.target == "cuda" and place == HOST:
            raise ValueError(f"the arrays are in host memory, but `{name}` was compiled for CUDA: copy them to a GPU, "
                             "or compile it with target=\"host\" or without a target")
        if self.device is not None and place not in (HOST, self.device):
            raise ValueError(f"the arrays are {_where(place)}, but `{name}` was compiled for GPU {self.device}")
        return place

    def _kernel(self, place: int, windows: bool = False) -> Any:
        """Compiled where that was not yet done; with `windows` a WindowKernel."""
        kernels: Any = self._windowed if windows else self._kernels
        with self._lock:
            if place not in kernels:
                tables = self._loaded
                if self._program is not None:
                    device = "cpu" if place == HOST else str(place)
                    tables = _compiler.build(self._program, self.interface.name, self._row, device, windows)
                assert tables is not None
                kernels[place] = (WindowKernel if windows else Kernel)(tables, self.interface, self._names)
            return kernels[place]

    def _usual_place(self) -> int:
        """Where there is code already, or where the target is: for questions that are not about a place."""
        first = next(iter(self._windowed), next(iter(self._kernels), None))
        return first if first is not None else (self.device or 0) if self.target == "cuda" else HOST

    # -- what it is -------------------------------------------------------------------------------------------------

    def shapes(self, *inputs: Sequence[int], place: Optional[int] = None, **scalars: Any) -> Any:
        """The extents of the outputs for inputs of these extents; nothing is computed. A tuple, or a named tuple of
        tuples where there are several outputs. Sizes are given by name."""
        rows = self._output_layouts(inputs, scalars, place)
        return rows[0][0] if len(rows) == 1 else self._result(*(shape for shape, _ in rows))

    def _output_layouts(self, inputs: Sequence[Sequence[int]], scalars: Mapping[str, Any],
                        place: Optional[int] = None) -> List[Tuple[Tuple[int, ...], ...]]:
        if len(inputs) != self._input_count:
            raise TypeError(f"{self.interface.name} has {self._input_count} inputs, but {len(inputs)} shapes were "
                            "given")
        self._check_ranks(inputs)
        if place is None:
            place = self._usual_place()
        # Either kind knows it.
        kernel = self._kernels.get(place) or self._windowed.get(place) or self._kernel(place)
        values = list(self._empty)
        for name, value in scalars.items():
            if name not in self._slots or not self._input_count <= self._slots[name] < len(values) - 3:
                raise TypeError(f"{self.interface.name} has no parameter or size `{name}`")
            values[self._slots[name]] = value
        n, end = self._input_count, self._input_count + self._scalar_count
        for name, value in zip(self.interface.sizes, values[end - len(self.interface.sizes):end]):
            if value is MISSING:
                raise TypeError(f"{self.interface.name} needs the size `{name}`")
        return kernel.shapes([tuple(map(int, s)) for s in inputs], values[n:end])

    def _check_ranks(self, inputs: Sequence[Sequence[int]]) -> None:
        for shape, buffer in zip(inputs, self.interface.inputs):
            if len(shape) != buffer.rank:
                raise ValueError(f"`{buffer.name}` has {len(shape)} extents, but must have {buffer.rank}: {buffer}")

    # -- parts of images --------------------------------------------------------------------------------------------

    def window(self, window: Any, *inputs: Any, **arguments: Any) -> Window:
        """A part of the outputs, as slices: of the only one, or a dict of those that are wanted. The rest is as in a
        call of the pipeline, but inputs may be shapes of whole images instead of arrays; nothing is computed yet.

        The result says which parts of the inputs are needed, and computes the window from these:

            corner = blur.window(numpy.s_[:100, :100], image.shape)
            corner(image[corner.required["image"]])
        """
        values = self._bind(inputs, arguments)
        out, shape, stream = values[-3:]
        for name, value in zip(self._names.options, (out, None, stream)):
            if value is not None:
                raise TypeError(f"`{name}` is for the call of the window")
        n = self._input_count
        shapes = [tuple(int(e) for e in getattr(value, "shape", value)) for value in values[:n]]
        self._check_ranks(shapes)
        named = dict(zip(self._slots, values))
        again = (self, shapes, {k: v for k, v in list(named.items())[n:] if v is not MISSING and v is not None})
        return Window(self, window, shapes, values[n:n + self._scalar_count],
                      {} if shape is None else self._shapes(shape), again)

    def required(self, window: Any, *inputs: Any, **arguments: Any) -> Dict[str, Tuple[slice, ...]]:
        """The parts of the inputs that a window of the outputs needs, as slices by input; arguments as in `window`."""
        return self.window(window, *inputs, **arguments).required

    def _phases(self) -> List[Phase]:
        """The pipelines that compute it one after the other, where it has statistics of whole images."""
        if self._known_phases is None:
            self._known_phases = phases(self)
        return self._known_phases

    def torch_op(self, name: str) -> Any:
        """Registers the pipeline as an operator of torch, "namespace::name", which torch.compile keeps as one node."""
        from ._torch import custom_op

        return custom_op(self, name)

    def explain(self) -> str:
        """The page of `pipec explain`: why the pipeline runs on a GPU as it does."""
        if self._program is None:
            raise PipecError(f"`{self.interface.name}` was loaded, and only a program can be explained: pipec.compile")
        if self._page is None:
            self._page = _compiler.explain(self._program)
        return self._page

    def __repr__(self) -> str:
        return f"<pipec.Function {self.interface}>"

    def _repr_html_(self) -> str:
        head = f"<pre>{html.escape(str(self.interface))}\n\n{html.escape(self.__doc__ or '')}</pre>"
        try:
            page = self.explain()
        except (PipecError, OSError, ValueError):
            return head
        style = "width: 100%; height: 40em; border: 1px solid #ccc"
        return f'{head}<iframe srcdoc="{html.escape(page)}" style="{style}"></iframe>'

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._carried is None:
            if self._program is None:
                self._carried = _again_loaded, (self._path, self.interface.name, self.device)
            else:
                program = json.dumps(dataclasses.asdict(_compiler.carried(self._program)))
                self._carried = _again, (program, json.dumps(self._row), self.target, self.device)
        return self._carried

    def __dask_tokenize__(self) -> Tuple[Any, ...]:
        """What results depend on besides the arguments."""
        maker, arguments = self.__reduce__()
        return maker.__name__, arguments


def _where(place: int) -> str:
    return "in host memory" if place == HOST else f"on GPU {place}"


@functools.lru_cache(maxsize=64)
def _again(program: str, row: str, target: Optional[str], device: Optional[int]) -> Function:
    """The function that was pickled, one for all copies in this process: each would load its own library."""
    fields = json.loads(program)
    fields["files"] = tuple(map(tuple, fields["files"]))
    described = json.loads(row)
    return Function(from_description(described), Program(**fields), target, device, described)


@functools.lru_cache(maxsize=64)
def _again_loaded(path: str, pipeline: str, device: Optional[int]) -> Function:
    return load(path, pipeline, device=device)


def _options(include: Union[None, PathLike, Sequence[PathLike]], options: Sequence[str]) -> Dict[str, Any]:
    if include is None:
        include = ()
    elif isinstance(include, (str, os.PathLike)):
        include = (include,)
    if isinstance(options, str):
        raise TypeError("`options` must be a sequence of arguments, like [\"--cxx\", \"clang++\"]")
    return {"include": tuple(os.fspath(d) for d in include), "options": tuple(options)}


def _make(program: Program, pipeline: Optional[str], target: Optional[str], device: Optional[int]) -> Function:
    if target not in (None, "host", "cuda"):
        raise ValueError(f"`target` is {target!r}, but must be \"host\", \"cuda\" or None, which goes by the arrays")
    if device is not None and (isinstance(device, bool) or not isinstance(device, int) or device < 0):
        raise ValueError(f"`device` is {device!r}, but must be the number of a GPU, from 0")
    if target == "host":
        for name, given in (("device", device is not None), ("schedule", program.schedule is not None),
                            ("fast_math", program.fast_math)):
            if given:
                raise ValueError(f"`{name}` is for a GPU, but the target is the host")
    rows = _compiler.describe(program)
    names = [row["name"] for row in rows]
    if not rows:
        raise ValueError(f"{program.name} has no pipeline")
    if pipeline is None and len(rows) > 1:
        raise ValueError(f"{program.name} has several pipelines, {', '.join(names)}: choose one with `pipeline=`")
    if pipeline is not None and pipeline not in names:
        raise ValueError(f"{program.name} has no pipeline `{pipeline}`; it has {', '.join(names)}")
    row = rows[0 if pipeline is None else names.index(pipeline)]
    function = Function(from_description(row), program, target, device, row)
    if target is not None:
        function._kernel(HOST if target == "host" else device or 0)
    return function


def compile(path: PathLike, pipeline: Optional[str] = None, *, target: Optional[str] = None,
            device: Optional[int] = None, schedule: Any = None, fast_math: bool = False,
            include: Union[None, PathLike, Sequence[PathLike]] = None, options: Sequence[str] = (), cache: bool = True,
            pipec: Optional[str] = None) -> Function:
    """A pipeline of a program in a file.

    The program is checked now. It is compiled now where `target` ("host" or "cuda") is given, otherwise when it is
    first called, for where the arrays are, and kept in the cache of `pipec run`.

    pipeline:  its name, where the file has several
    device:    the number of the GPU that arrays are on
    schedule:  how it runs on a GPU: a file, or what is in one
    fast_math: on a GPU, floats as if they were real numbers
    include:   directories for imports
    options:   more options of `pipec library`, like ["--cxx", "clang++"]
    cache:     False compiles anew and keeps nothing
    pipec:     the compiler, instead of $PIPEC, that of this installation, or the one on PATH

    Raises CompileError, ToolError, FileNotFoundError, ValueError.
    """
    program = Program(path=os.fspath(path), fast_math=fast_math, schedule=schedule, cache=cache, pipec=pipec,
                      **_options(include, options))
    return _make(program, pipeline, target, device)


def source(text: str, pipeline: Optional[str] = None, *, target: Optional[str] = None, device: Optional[int] = None,
           schedule: Any = None, fast_math: bool = False, include: Union[None, PathLike, Sequence[PathLike]] = None,
           options: Sequence[str] = (), cache: bool = True, pipec: Optional[str] = None) -> Function:
    """The same for a program that is a text. Messages call it <stdin>; imports are looked for in `include`."""
    program = Program(text=text, fast_math=fast_math, schedule=schedule, cache=cache, pipec=pipec,
                      **_options(include, options))
    return _make(program, pipeline, target, device)


def load(path: PathLike, pipeline: Optional[str] = None, *, device: Optional[int] = None) -> Function:
    """A pipeline of a shared object that `pipec -shared` made, or somebody's own compiler of the generated code.

    Nothing is compiled, and pipec is not needed. `pipeline` is the file's name without its extension where it is not
    given. Comments and conditions are not in such a file.
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    tables = Tables(name, pipeline or os.path.splitext(os.path.basename(name))[0])
    on_gpu = tables.target == "cuda"
    if device is not None and not on_gpu:
        raise ValueError("`device` is for a GPU, but the pipeline was compiled for the host")
    function = Function(from_tables(tables), None, tables.target, device)
    function._loaded, function._path = tables, os.path.abspath(name)
    return function
