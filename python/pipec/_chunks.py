"""Arrays in chunks: which parts of the inputs' chunks a chunk of an output needs, and how it is computed from them.

This file knows neither dask nor another scheduler: dask.py makes tasks of it.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import itertools
import math
import re
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ._own import HOST
from ._window import Box, Shape, Whole, is_empty, shape_of, slices_of

if TYPE_CHECKING:
    from ._function import Function

Chunks = Tuple[Tuple[int, ...], ...]  # by dimension the extents of the chunks
Index = Tuple[int, ...]  # of a chunk
_WORDS = frozenset(("min", "max", "if", "then", "else", "and", "or", "not"))  # in extents, besides sizes
# Bytes of an input that all chunks may read as a whole, if it has no size of the output's.
MOST_OF_TABLES = 2**26


# What a chunk needs of several pieces is not copied together where it has as many bytes as this, and most points need one
# piece alone: all except this share. The rest, at the edges, is computed by itself.
WORTH_SPLITTING = 2**22
MOST_AT_EDGES = 1 / 32


class Piece(NamedTuple):
    """What one chunk of an input gives to a window."""

    input: int
    chunk: Index
    part: Box  # of the chunk, in indices of its own
    cut: bool  # a task beside the chunk takes the part out, and only the part travels


class Block(NamedTuple):
    """A part of an input that is there."""

    box: Box
    array: Any


def shape_in(chunks: Chunks) -> Shape:
    return tuple(sum(sizes) for sizes in chunks)


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
            index, part, shares = zip(*entries) if entries else ((), (), ())
            # Half of a chunk, and more, travels with the rest of it: a copy and a task would cost more than they save.
            yield Piece(number, index, part, math.prod(shares) < 0.5)

    def _row(self, d: int, lo: int, hi: int) -> List[Tuple[int, Tuple[int, int], float]]:
        """Of the chunks in one dimension that meet lo..hi: the number, what that is of the chunk, and which share."""
        row = self._rows.get((d, lo, hi))
        if row is None:
            row, starts = [], self.starts[d]
            for i in range(bisect.bisect_right(starts, lo) - 1, bisect.bisect_left(starts, hi)):
                first, last = max(lo, starts[i]), min(hi, starts[i + 1])
                if first < last:
                    row.append((i, (first - starts[i], last - starts[i]),
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
        self.shapes = [shape_in(chunks) for chunks in inputs]
        self.grids = [Grid(chunks) for chunks in inputs]
        self.grid = Grid(chunks)
        # Dimensions of constant extent are computed as a whole.
        self.fixed = [extent.isdigit() for extent in function.interface.outputs[number].extents]
        self._whole: Optional[Whole] = None
        self._lock = threading.Lock()

    def __reduce__(self) -> Tuple[Any, ...]:
        return Plan, (self.function, self.inputs, self.named, self.number, self.chunks, self.threads)

    @property
    def name(self) -> str:
        return self.function.interface.outputs[self.number].name

    def required(self, box: Box) -> List[Box]:
        """The windows of the inputs for one of the output."""
        with self._lock:
            if self._whole is None:
                self._whole = self.function.window({}, *self.shapes, **self.named).whole
            return self._whole.required({self.number: box})

    def pieces(self, windows: Sequence[Box]) -> List[Piece]:
        """What these windows of the inputs are made of, in the order in which `compute` takes it."""
        return [piece for i, window in enumerate(windows) if not is_empty(window)
                for piece in self.grids[i].pieces(i, window)]

    def compute(self, index: Index, arrays: Sequence[Any]) -> Any:
        """The chunk of the output, from what `pieces` names: cut parts, and whole chunks."""
        box = self.grid.box(index)
        windows = self.required(box)
        blocks: List[List[Block]] = [[] for _ in windows]
        for piece, array in zip(self.pieces(windows), arrays):
            whole = self.grids[piece.input].box(piece.chunk)
            at = tuple((w + lo, w + hi) for (w, _), (lo, hi) in zip(whole, piece.part)) if piece.cut else whole
            blocks[piece.input].append(Block(at, _array(array)))
        inner = self._inner(box, windows, blocks)
        with _limited(self.function, self.threads):
            if inner is None:
                return self._run(box, blocks, None)
            out = self._new(shape_of(box), next(b.array for given in blocks for b in given))
            for part in (inner, *edges(box, inner)):
                self._run(part, blocks, out[slices_of(relative(part, box))])
            return out

    def _run(self, box: Box, blocks: Sequence[Sequence[Block]], out: Any) -> Any:
        return self._run_with(slices_of(box), blocks, out, self.named)

    def _run_with(self, wanted: Tuple[slice, ...], blocks: Sequence[Sequence[Block]], out: Any,
                  named: Dict[str, Any]) -> Any:
        window = self.function.window({self.name: wanted}, *self.shapes, **named)
        parts = [None if is_empty(w) else gather(w, given) for w, given in zip(window.boxes, blocks)]
        results = window(*parts, **{window.options[1]: None if out is None else {self.name: out}})
        return results if len(self.function.interface.outputs) == 1 else results[self.number]

    def _new(self, shape: Shape, like: Any) -> Any:
        """An array for the output, in the order of its dimensions, from the library of another array."""
        import numpy

        buffer = self.function.interface.outputs[self.number]
        memory = tuple(shape[d] for d in buffer.order)
        flat = numpy.empty_like(like, shape=memory, dtype=buffer.type.typestr, order="C")
        return flat.transpose([buffer.order.index(d) for d in range(len(shape))])

    def _inner(self, box: Box, windows: Sequence[Box], blocks: Sequence[Sequence[Block]]) -> Optional[Box]:
        """The points of a chunk for which one block of each input is enough, where splitting saves much copying: the
        largest such box. None: there is none, or it is the whole chunk."""
        several = [i for i, given in enumerate(blocks) if len(given) > 1]
        inputs = self.function.interface.inputs
        if sum(math.prod(shape_of(windows[i])) * inputs[i].type.size for i in several) < WORTH_SPLITTING:
            return None
        most = {i: max((b.box for b in blocks[i]), key=functools.partial(_common, windows[i])) for i in several}

        def outside(part: Box) -> List[int]:
            """By side of each input's block: how far what is needed reaches beyond it."""
            needed = self.required(part)
            return [max(0, excess) for i, block in most.items() for (lo, hi), (first, last) in zip(needed[i], block)
                    for excess in (first - lo, hi - last)]

        inner = list(box)
        for d, (lo, hi) in enumerate(box):
            middle = (lo + hi) // 2

            def reach(ends: Tuple[int, int]) -> List[int]:
                return outside((*inner[:d], ends, *inner[d + 1:]))

            # As much of each half as reaches no further than its innermost points do.
            if hi - lo > 1 and not self.fixed[d]:
                least = reach((middle, hi))
                first = _first(lo, middle, lambda i: reach((i, hi)) == least)
                least = reach((first, middle + 1))
                inner[d] = (first, hi - _first(0, hi - middle - 1, lambda n: reach((first, hi - n)) == least))
        found = tuple(inner)
        enough = math.prod(shape_of(found)) >= (1 - MOST_AT_EDGES) * math.prod(shape_of(box))
        return found if enough and found != box and not any(outside(found)) else None

    def needed_as_a_whole(self) -> List[str]:
        """The inputs of several chunks of which the first and the last point of the output need all of them, and which
        are no tables."""
        result = []
        interface, shape = self.function.interface, shape_in(self.chunks)
        output = interface.outputs[self.number]
        first = tuple((0, e if f else min(e, 1)) for e, f in zip(shape, self.fixed))
        last = tuple((0 if f else max(e - 1, 0), e) for e, f in zip(shape, self.fixed))
        for i, boxes in enumerate(zip(self.required(first), self.required(last))):
            divided = [d for d, sizes in enumerate(self.inputs[i]) if len(sizes) > 1]
            buffer = interface.inputs[i]
            apart = not any(_sizes_of(a) & _sizes_of(b) for a in buffer.extents for b in output.extents)
            if apart and math.prod(self.shapes[i]) * buffer.type.size <= MOST_OF_TABLES:
                continue
            if divided and all(box[d] == (0, self.shapes[i][d]) for box in boxes for d in divided):
                result.append(buffer.name)
        return result


def cut(block: Any, part: Box) -> Any:
    """A copy: a view would keep the whole chunk in memory."""
    return block[slices_of(part)].copy()


def _array(block: Any) -> Any:
    """Chunks without dimensions may be numbers of NumPy."""
    import numpy

    return numpy.asarray(block) if isinstance(block, numpy.generic) else block


def relative(box: Box, to: Box) -> Box:
    return tuple((lo - first, hi - first) for (lo, hi), (first, _) in zip(box, to))


def edges(box: Box, inner: Box) -> Iterator[Box]:
    """Boxes that have the points of `box` outside of `inner`."""
    for d, ((lo, hi), (first, last)) in enumerate(zip(box, inner)):
        for side in ((lo, first), (last, hi)):
            if side[0] < side[1]:
                yield (*inner[:d], side, *box[d + 1:])


def _first(lo: int, hi: int, is_so: Callable[[int], bool]) -> int:
    """The first number from lo on for which something is so, which is so for hi and from then on."""
    while lo < hi:
        middle = (lo + hi) // 2
        lo, hi = (lo, middle) if is_so(middle) else (middle + 1, hi)
    return lo


def _meet(a: Box, b: Box) -> Box:
    return tuple((max(p, r), min(q, s)) for (p, q), (r, s) in zip(a, b))


def _common(a: Box, b: Box) -> int:
    return math.prod(max(0, hi - lo) for lo, hi in _meet(a, b))


def gather(window: Box, blocks: Sequence[Block]) -> Any:
    """One array for a window that is not empty, without a copy where one block has all of it."""
    import numpy

    for block in blocks:
        if _meet(window, block.box) == window:
            # `...` because an index without dimensions makes a number of an array without dimensions.
            return _callable_with(block.array[(*slices_of(relative(window, block.box)), ...)])
    # Of the library, and in the order of dimensions, of the first block.
    whole = numpy.empty_like(blocks[0].array, shape=shape_of(window))
    for block in blocks:
        if _common(window, block.box) > 0:
            part = _meet(window, block.box)
            whole[slices_of(relative(part, window))] = block.array[slices_of(relative(part, block.box))]
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
    library = None if kernel is None else kernel.tables.library
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
    return frozenset(re.findall(r"[A-Za-z_]\w*", extent)) - _WORDS
