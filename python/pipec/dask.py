"""Pipelines on arrays of dask: chunk by chunk, each from exactly those parts of the inputs that it needs.

    import pipec, pipec.dask

    sharp = pipec.dask.apply(pipec.compile("unsharp.pipe"), image)      # image and sharp are dask arrays

docs/dask.md says all of it.
"""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

try:
    import dask
    import dask.array as da
    from dask.array.core import normalize_chunks
    from dask.array.utils import meta_from_array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer
except ImportError as _error:
    raise ImportError(f"pipec.dask needs dask with its arrays (Debian's package python3-dask, or `pip install "
                      f"dask[array]`): {_error}") from None

import numpy as np

from ._call import MISSING
from ._chunks import Index, Plan, cut, like_inputs
from ._function import Function
from ._phases import PartsPlan, Phase

__all__ = ["apply"]

_SMALL = 2**20  # bytes: larger arrays that are not dask's are divided


def apply(function: Function, /, *arguments: Any, chunks: Any = None, threads: Optional[int] = 1, **named: Any) -> Any:
    """The outputs of a pipeline as lazy arrays of dask: one, or a named tuple. Arguments are as in a call.

    Inputs are dask's arrays, or any that dask makes some of (NumPy's, Zarr's, HDF5's). Each chunk of an output is a
    task, which gets just what it needs of the inputs, once for the whole pipeline. Its bits are those of one call.

    chunks:  of the output, as dask writes them (a dict by name where there are several outputs); by default as those of
             the input whose extents have the same sizes in them
    threads: of OpenMP in a task, on the host; None: as many as OpenMP takes

    Raises ValueError where each chunk would need all of an input, and what a call raises of its arguments.
    """
    values = function._bind(arguments, named)
    n, names = function._input_count, function._names
    out, shape, stream = values[-3:]
    for name, value in zip((names.options[0], names.options[2]), (out, stream)):
        if value is not None:
            raise TypeError(f"`{name}` is for a call, and tasks are called later")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ValueError(f"`threads` is {threads!r}, but must be a number from 1, or None")
    inputs = [_input(function, i, value) for i, value in enumerate(values[:n])]
    scalars = {k: v for k, v in zip(names.parameters + names.sizes, values[n:-3]) if v is not MISSING}
    for name, value in scalars.items():
        if dask.is_dask_collection(value):
            raise TypeError(f"`{name}` is not computed yet, but decides which tasks there are: compute it first, or "
                            "let the program have it as an input without dimensions, as in `level: float32[]`")
    shapes = {} if shape is None else function._shapes(shape)
    if shape is not None:
        scalars[names.options[1]] = shape
    outputs = function.interface.outputs
    # Raises what is wrong with the arguments, before anything is computed.
    extents = function.window({}, *[x.shape for x in inputs], **scalars).whole.outputs
    wishes = _wishes(function, chunks)
    token = tokenize(function, [x.name for x in inputs], scalars)
    arrays = []
    in_phases = _InPhases(function, inputs, values[n:-3], shapes, extents, wishes, threads, token)
    for i, buffer in enumerate(outputs):
        divided = _chunks(function, i, extents[i], wishes.get(buffer.name), inputs)
        plan = Plan(function, [x.chunks for x in inputs], scalars, i, divided, threads)
        label = function.interface.name if len(outputs) == 1 else f"{function.interface.name}.{buffer.name}"
        needed = plan.needed_as_a_whole()
        if needed and function._phases():
            try:
                arrays.append(in_phases.output(buffer.name, label))
                continue
            except _NeedsAll as error:
                needed = [error.input]
        if needed and _is_divided(plan.chunks):
            raise ValueError(
                f"each chunk of `{buffer.name}` needs all of `{needed[0]}`: for a statistic of the whole image that is "
                "not computed in parts (floats in an `accumulate`, a scan, a library without its program), for places "
                "that data choose, or for a halo as wide as the image. `chunks=-1` computes it in one task; a "
                "statistic that is computed before can be an input without dimensions")
        arrays.append(_array(plan, f"{label}-{tokenize(token, i, divided)}", inputs))
    return arrays[0] if len(arrays) == 1 else function._result(*arrays)


def _input(function: Function, number: int, value: Any) -> da.Array:
    buffer = function.interface.inputs[number]
    if not isinstance(value, da.Array):
        if not all(hasattr(value, a) for a in ("shape", "dtype", "ndim", "__getitem__")):
            value = np.asarray(value)
        size = value.dtype.itemsize * int(np.prod(value.shape, dtype=object))
        value = da.from_array(value, chunks=-1 if size <= _SMALL else "auto")
    if value.ndim != buffer.rank:
        raise ValueError(f"`{buffer.name}` has {value.ndim} dimensions, but must have {buffer.rank}: {buffer}")
    if np.dtype(value.dtype) != np.dtype(buffer.type.typestr):
        raise TypeError(f"`{buffer.name}` is {value.dtype}, but must be {buffer.type}: {buffer}; convert it "
                        f"(`.astype(\"{buffer.type}\")`)")
    if any(np.isnan(extent) for extent in value.shape):
        raise ValueError(f"`{buffer.name}` has chunks of unknown extents: `.compute_chunk_sizes()` finds them")
    return value


def _wishes(function: Function, chunks: Any) -> Dict[str, Any]:
    """By output what the caller says of its chunks."""
    names = [b.name for b in function.interface.outputs]
    if isinstance(chunks, Mapping) and any(isinstance(key, str) for key in chunks):
        for wrong in set(chunks) - set(names):
            raise ValueError(f"`chunks` has `{wrong}`, which is no output: there is {', '.join(names)}")
        return dict(chunks)
    if chunks is not None and chunks != -1 and len(names) > 1:
        raise TypeError(f"`chunks` must be a dict by output: there are {len(names)}, {', '.join(names)}")
    return dict.fromkeys(names, chunks)


def _chunks(function: Function, number: int, shape: Tuple[int, ...], wish: Any, inputs: Sequence[da.Array]) -> Any:
    buffer = function.interface.outputs[number]
    if wish is None:
        wish = like_inputs(function, number, shape, [x.chunks for x in inputs])
    elif isinstance(wish, (int, str)):
        wish = [wish] * len(shape)
    elif isinstance(wish, Mapping):
        wish = [wish.get(d, wish.get(d - len(shape), -1)) for d in range(len(shape))]
    if isinstance(wish, (tuple, list)) and len(wish) == len(shape):
        # A chunk has all of a dimension whose extent is a constant.
        wish = [(e,) if text.isdigit() else w for w, text, e in zip(wish, buffer.extents, shape)]
    try:
        return normalize_chunks(tuple(wish), shape, dtype=np.dtype(buffer.type.typestr))
    except (TypeError, ValueError) as error:
        raise type(error)(f"chunks of `{buffer.name}`, which has the extents {shape}: {error}") from None


def _is_divided(chunks: Any) -> bool:
    return any(len(sizes) > 1 for sizes in chunks)


class _NeedsAll(Exception):
    """A task would need all of an input that has several chunks."""

    def __init__(self, name: str):
        super().__init__(name)
        self.input = name


class _InPhases:
    """Outputs that depend on statistics of whole images, by the phases of their pipeline: what an earlier phase gives
    is an array for the next one."""

    def __init__(self, function: Function, inputs: Sequence[da.Array], scalars: Sequence[Any],
                 shapes: Mapping[int, Any], extents: Sequence[Any], wishes: Mapping[str, Any], threads: Optional[int],
                 token: str):
        """`scalars` are parameters and sizes in the function's order, `extents` those of its outputs."""
        self.function, self.scalars, self.shapes, self.extents = function, scalars, shapes, extents
        self.wishes, self.threads, self.token = wishes, threads, token
        interface = function.interface
        self.arrays: Dict[str, da.Array] = {b.name: x for b, x in zip(interface.inputs, inputs)}
        self.outputs = {b.name: i for i, b in enumerate(interface.outputs)}
        self.given = set(self.arrays)
        self.whole: Dict[str, str] = {}  # arrays that one task computes from all of an input, and that input

    def output(self, name: str, label: str) -> da.Array:
        """An output of the pipeline. Raises _NeedsAll where another way than one task with all of an input is not
        known."""
        array = self._array(name, label)
        if name in self.whole and _is_divided(array.chunks):
            raise _NeedsAll(self.whole[name])
        return array

    def _array(self, name: str, label: str) -> da.Array:
        if name not in self.arrays:
            phase = next(p for p in self.function._phases() if name in (b.name for b in p.function.interface.outputs))
            self.arrays[name] = self._made(phase, name, label)
        return self.arrays[name]

    def _between(self, name: str) -> da.Array:
        """An input of a phase."""
        array = self._array(name, f"{self.function.interface.name}.{name}")
        if name in self.whole:
            raise _NeedsAll(self.whole[name])
        return array

    def _made(self, phase: Phase, name: str, label: str) -> da.Array:
        function, interface = phase.function, phase.function.interface
        number = next(i for i, b in enumerate(interface.outputs) if b.name == name)
        inputs = [self._between(b.name) for b in interface.inputs]
        named = self._named(phase)
        shape = function.window({}, *[x.shape for x in inputs], **named).whole.outputs[number]
        chunks = [x.chunks for x in inputs]
        plan: Plan
        if name in phase.parts:
            plan = PartsPlan(function, chunks, named, number, phase.parts[name], shape, self.threads)
        else:
            divided = _chunks(function, number, shape, self.wishes.get(name), inputs)
            plan = Plan(function, chunks, named, number, divided, self.threads)
            # Arrays between phases are small enough for a task, but the inputs are not.
            needed = [x for x in plan.needed_as_a_whole() if x in self.given]
            if needed:
                self.whole[name] = needed[0]
        return _array(plan, f"{label}-{tokenize(self.token, name, plan.chunks)}", inputs)

    def _named(self, phase: Phase) -> Dict[str, Any]:
        """Parameters, sizes and extents for a phase."""
        interface, given = self.function.interface, phase.function.interface
        names = phase.function._names
        count = len(interface.parameters)
        named = {k: v for k, v in zip(names.parameters, self.scalars[:count]) if v is not MISSING}
        named.update(dict.fromkeys(names.parameters[count:], 0))  # ends of parts, which their tasks set
        sizes = dict(zip(interface.sizes, self.scalars[count:]))
        for buffer, extents in zip(interface.outputs, self.extents):
            sizes.update(zip(buffer.extents, extents))
        for size, name in zip(given.sizes, names.sizes):
            if size not in sizes:
                raise _NeedsAll(interface.inputs[0].name)  # of an output that this phase does not have
            named[name] = sizes[size]
        shapes = {b.name: self.shapes[self.outputs[b.name]] for b in given.outputs
                  if self.outputs.get(b.name) in self.shapes}
        if shapes:
            named[names.options[1]] = shapes
        return named


def _array(plan: Plan, name: str, inputs: Sequence[da.Array]) -> da.Array:
    layer = _Layer(plan, name, [x.name for x in inputs])
    graph = HighLevelGraph.from_collections(name, layer, dependencies=inputs)
    dtype = np.dtype(plan.function.interface.outputs[plan.number].type.typestr)
    like = inputs[0]._meta if inputs else np.empty(())
    return da.Array(graph, name, plan.chunks, dtype=dtype, meta=meta_from_array(like, len(plan.chunks), dtype))


class _Layer(Layer):
    """The tasks of one output. They are made when somebody computes, for those chunks that are wanted."""

    def __init__(self, plan: Plan, name: str, inputs: Sequence[str]):
        super().__init__()
        self.plan, self.name, self.inputs = plan, name, list(inputs)
        self._tasks: Optional[Dict[Any, Any]] = None

    def _indices(self) -> Iterator[Index]:
        return itertools.product(*(range(len(sizes)) for sizes in self.plan.chunks))

    def _make(self, indices: Iterator[Index]) -> Tuple[Dict[Any, Any], Dict[Any, Set[Any]]]:
        """Tasks, and by task the keys that it needs."""
        plan, plan_key, cut_name = self.plan, "plan-" + self.name, "cut-" + self.name
        tasks: Dict[Any, Any] = {plan_key: plan}
        needs: Dict[Any, Set[Any]] = {plan_key: set()}
        for index in indices:
            blocks: List[Any] = []
            for piece in plan.pieces(plan.required(plan.grid.box(index))):
                block = (self.inputs[piece.input], *piece.chunk)
                if piece.cut:
                    key = (cut_name, piece.input, *piece.chunk, *itertools.chain(*piece.part))
                    tasks[key], needs[key] = (cut, block, piece.part), {block}
                    block = key
                blocks.append(block)
            key = (self.name, *index)
            tasks[key], needs[key] = (Plan.compute, plan_key, index, blocks), {plan_key, *blocks}
        return tasks, needs

    def _all(self) -> Dict[Any, Any]:
        if self._tasks is None:
            self._tasks = self._make(self._indices())[0]
        return self._tasks

    def is_materialized(self) -> bool:
        return self._tasks is not None

    def get_output_keys(self) -> Set[Any]:
        return {(self.name, *index) for index in self._indices()}

    def cull(self, keys: Set[Any], all_hlg_keys: Any) -> Tuple[Layer, Mapping[Any, Set[Any]]]:
        tasks, needs = self._make(key[1:] for key in keys if key[0] == self.name)
        return MaterializedLayer(tasks, annotations=self.annotations), needs

    def clone(self, keys: Set[Any], seed: Any, bind_to: Any = None) -> Tuple[Layer, bool]:
        """For dask.graph_manipulation: the layer's own keys become others, too."""
        return MaterializedLayer(self._all()).clone(keys | set(self._all()), seed, bind_to)

    def __getitem__(self, key: Any) -> Any:
        return self._all()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
