"""Arrays in chunks: which parts of the inputs' chunks a chunk of an output needs, and how it is computed from them.

This file knows neither dask nor another scheduler: dask.py makes tasks of it.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ._own import HOST
from ._window import Box, Shape, Whole, is_empty, shape_of, slices_of

if TYPE_CHECKING:
    from ._function import Function

Chunks = Tuple[Tuple[int, ...], ...]  # by dimension the extents of the chunks
Index = Tuple[int, ...]  # of a chunk
MOST_OF_TABLES = 2**26  # bytes of an input that all chunks may read as a whole, if it has no size of the output's


class Piece(NamedTuple):
    """What one chunk of an input gives to a window."""

    input: int
    chunk: Index
    part: Box  # of the chunk, in indices of its own
    target: Box  # where it belongs in the window
    cut: bool  # a task beside the chunk takes the part out, and only the part travels


class Grid:
    """Where the chunks of an array begin."""

    def __init__(self, chunks: Chunks):
        self.starts = [list(itertools.accumulate(sizes, initial=0)) for sizes in chunks]
        self._rows: Dict[Tuple[int, int, int], List[Any]] = {}  # the windows of a row of chunks have the same rows

    def box(self, index: Index) -> Box:
        return tuple((starts[i], starts[i + 1]) for starts, i in zip(self.starts, index))

    def pieces(self, number: int, window: Box) -> Iterator[Piece]:
        """Of the input `number`, by chunk. The window is not empty."""
        for entries in itertools.product(*(self._row(d, lo, hi) for d, (lo, hi) in enumerate(window))):
            index, part, target, shares = zip(*entries) if entries else ((), (), (), ())
            # Half of a chunk, and more, travels with the rest of it: a copy and a task would cost more than they save.
            yield Piece(number, index, part, target, math.prod(shares) < 0.5)

    def _row(self, d: int, lo: int, hi: int) -> List[Tuple[int, Tuple[int, int], Tuple[int, int], float]]:
        """Of the chunks in one dimension that meet lo..hi: the number; what that is of the chunk, and of lo..hi; which
        share of the chunk it is."""
        row = self._rows.get((d, lo, hi))
        if row is None:
            row, starts = [], self.starts[d]
            for i in range(bisect.bisect_right(starts, lo) - 1, bisect.bisect_left(starts, hi)):
                first, last = max(lo, starts[i]), min(hi, starts[i + 1])
                if first < last:
                    row.append((i, (first - starts[i], last - starts[i]), (first - lo, last - lo),
                                (last - first) / (starts[i + 1] - starts[i])))
            self._rows[d, lo, hi] = row
        return row


class Plan:
    """One output of a pipeline, in chunks. It can be pickled, and is shared by the tasks of all chunks."""

    def __init__(self, function: "Function", inputs: Sequence[Chunks], named: Dict[str, Any], number: int,
                 chunks: Chunks, threads: Optional[int]):
        """`inputs` are the chunks of each; `named` parameters and sizes, and perhaps extents of outputs; `number` that
        of the output, and `chunks` its own; `threads` those of a task on the host, None: as OpenMP has it."""
        self.function, self.inputs, self.named = function, tuple(inputs), named
        self.number, self.chunks, self.threads = number, chunks, threads
        self.shapes = [tuple(map(sum, chunks)) for chunks in inputs]
        self.grids = [Grid(chunks) for chunks in inputs]
        self.grid = Grid(chunks)
        self._whole: Optional[Whole] = None

    def __reduce__(self) -> Tuple[Any, ...]:
        return Plan, (self.function, self.inputs, self.named, self.number, self.chunks, self.threads)

    @property
    def name(self) -> str:
        return self.function.interface.outputs[self.number].name

    def required(self, box: Box) -> List[Box]:
        """The windows of the inputs for one of the output. Not for several threads at a time."""
        if self._whole is None:
            window = self.function.window({}, *self.shapes, **self.named)
            self._whole = window.whole
        return self._whole.required({self.number: box})

    def pieces(self, windows: Sequence[Box]) -> List[Piece]:
        """What these windows of the inputs are made of, in the order in which `compute` takes it."""
        return [piece for i, window in enumerate(windows) if not is_empty(window)
                for piece in self.grids[i].pieces(i, window)]

    def compute(self, index: Index, blocks: Sequence[Any]) -> Any:
        """The chunk of the output, from what `pieces` names: cut parts, and whole chunks."""
        function = self.function
        window = function.window({self.name: slices_of(self.grid.box(index))}, *self.shapes, **self.named)
        boxes = window.boxes
        given: List[List[Tuple[Piece, Any]]] = [[] for _ in boxes]
        for piece, block in zip(self.pieces(boxes), blocks):
            given[piece.input].append((piece, _array(block if piece.cut else block[slices_of(piece.part)])))
        parts = [_assemble(box, pieces) for box, pieces in zip(boxes, given)]
        with _limited(function, self.threads):
            results = window(*parts)
        return results if len(function.interface.outputs) == 1 else results[self.number]

    def needs_everything(self) -> Optional[str]:
        """An input of several chunks of which the first and the last point of the output need all of them, and which is
        no table."""
        interface, shape = self.function.interface, tuple(map(sum, self.chunks))
        output = interface.outputs[self.number]
        fixed = [extent.isdigit() for extent in output.extents]
        first = tuple((0, e if f else min(e, 1)) for e, f in zip(shape, fixed))
        last = tuple((0 if f else max(e - 1, 0), e) for e, f in zip(shape, fixed))
        for i, boxes in enumerate(zip(self.required(first), self.required(last))):
            divided = [d for d, sizes in enumerate(self.inputs[i]) if len(sizes) > 1]
            buffer = interface.inputs[i]
            apart = not any(_sizes_of(a) & _sizes_of(b) for a in buffer.extents for b in output.extents)
            if apart and math.prod(self.shapes[i]) * buffer.type.size <= MOST_OF_TABLES:
                continue
            if divided and all(box[d] == (0, self.shapes[i][d]) for box in boxes for d in divided):
                return buffer.name
        return None


def cut(block: Any, part: Box) -> Any:
    """A copy: a view would keep the whole chunk in memory."""
    return block[slices_of(part)].copy()


def _array(block: Any) -> Any:
    """Chunks without dimensions may be numbers of NumPy."""
    import numpy

    return numpy.asarray(block) if isinstance(block, numpy.generic) else block


def _assemble(window: Box, pieces: Sequence[Tuple[Piece, Any]]) -> Any:
    """One array for a window; None for an empty one."""
    import numpy

    if not pieces:
        return None
    if len(pieces) == 1:
        return _callable_with(pieces[0][1])
    # Of the library, and in the order of dimensions, of the first piece.
    whole = numpy.empty_like(pieces[0][1], shape=shape_of(window))
    for piece, block in pieces:
        whole[slices_of(piece.target)] = block
    return whole


def _callable_with(block: Any) -> Any:
    """An array, or a copy of one that no pipeline takes: a chunk that came from another process may lie anywhere, those
    of reversed arrays have negative strides, those of `da.ones` none."""
    size = block.dtype.itemsize
    strange = any(e > 1 and (s <= 0 or s % size) for e, s in zip(block.shape, block.strides))
    return block.copy(order="K") if strange or not getattr(block.flags, "aligned", True) else block


@contextlib.contextmanager
def _limited(function: "Function", threads: Optional[int]) -> Iterator[None]:
    """A number of OpenMP's threads for what this thread calls."""
    kernel = function._windowed.get(HOST)
    library = kernel and kernel.tables.library
    if threads is None or library is None or not hasattr(library, "omp_set_num_threads"):
        yield
        return
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(threads)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


def like_inputs(function: "Function", number: int, shape: Shape, inputs: Sequence[Chunks]) -> List[Any]:
    """Chunks of an output as the inputs have them: a dimension is divided where that of an input is whose extent has
    the same sizes in it, in proportion. "auto" where there is none."""
    buffer = function.interface.outputs[number]
    result: List[Any] = []
    for text, extent in zip(buffer.extents, shape):
        sizes = _sizes_of(text)
        found = next((chunks[d] for b, chunks in zip(function.interface.inputs, inputs)
                      for d, other in enumerate(b.extents) if sizes and _sizes_of(other) == sizes), None)
        if found is None:
            result.append("auto")
            continue
        starts = itertools.accumulate(found, initial=0)
        ends = sorted({round(start * extent / sum(found)) for start in starts})
        result.append(tuple(hi - lo for lo, hi in zip(ends, ends[1:])))
    return result


def _sizes_of(extent: str) -> frozenset:
    return frozenset(re.findall(r"[A-Za-z_]\w*", extent))
