"""Phases: pipelines that compute one with statistics of whole images, one after the other (docs/windows.md)."""

from __future__ import annotations

import dataclasses
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _compiler
from ._chunks import Block, Chunks, Plan
from ._errors import PipecError
from ._interface import from_description
from ._window import Box, slices_of

if TYPE_CHECKING:
    from ._function import Function

_END = 2**30 - 1  # no loop goes as far


class Loop(NamedTuple):
    """A loop of an accumulate that is computed in parts: from <= variable < to, which are parameters. It goes through a
    dimension of an input."""

    start: str
    stop: str
    input: int
    dim: int


class Phase(NamedTuple):
    function: "Function"
    parts: Dict[str, Tuple[Loop, ...]]  # by output


def phases(function: "Function") -> List[Phase]:
    """In their order, compiled; none where the pipeline is computed in one, or was loaded without its program."""
    from ._function import Function

    if function._program is None:
        return []
    program = dataclasses.replace(function._program, phases=True, schedule=None)
    result = []
    rows = _compiler.describe(program)
    if function._row not in rows:
        raise PipecError(f"{program.name} has changed since pipec.compile: compile it again")
    for row in rows:
        of = row.get("phase")
        if of is None or of["of"] != function.interface.name:
            continue
        parts = {name: tuple(Loop(loop["from"], loop["to"], loop["input"], loop["dim"]) for loop in loops)
                 for name, loops in of["parts"].items()}
        made = Function(from_description(row), program, function.target, function.device, row)
        result.append((of["number"], Phase(made, parts)))
    found = [phase for _, phase in sorted(result, key=lambda entry: entry[0])]
    place = function._usual_place()
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # compilers, side by side
        list(pool.map(lambda phase: phase.function._kernel(place, windows=True), found))
    return found


class PartsPlan(Plan):
    """An accumulate in parts, one for each combination of chunks that its loops go through: an array that has the parts
    behind each other in its first dimension."""

    def __init__(self, function: "Function", inputs: Sequence[Chunks], named: Dict[str, Any], number: int,
                 loops: Sequence[Loop], extents: Tuple[int, ...], threads: Optional[int]):
        self.loops, self.extents = tuple(loops), extents
        ends = [list(itertools.accumulate(inputs[loop.input][loop.dim]))[:-1] for loop in loops]
        self.cuts = [list(zip((-_END, *between), (*between, _END))) for between in ends]
        count = 1
        for cuts in self.cuts:
            count *= len(cuts)
        super().__init__(function, inputs, named, number, ((1,) * count, *((e,) for e in extents)), threads)

    def __reduce__(self) -> Tuple[Any, ...]:
        return PartsPlan, (self.function, self.inputs, self.named, self.number, self.loops, self.extents, self.threads)

    def _part(self, box: Box) -> Dict[str, Any]:
        """The parameters of the part that a box is."""
        (number, _), *_ = box
        named = dict(self.named)
        for loop, cuts in zip(reversed(self.loops), reversed(self.cuts)):
            number, i = divmod(number, len(cuts))
            named[loop.start], named[loop.stop] = cuts[i]
        return named

    def required(self, box: Box) -> List[Box]:
        whole = self.function.window({}, *self.shapes, **self._part(box)).whole
        return whole.required({self.number: box[1:]})

    def needed_as_a_whole(self) -> List[str]:
        return []

    def _run(self, box: Box, blocks: Sequence[Sequence[Block]], out: Any) -> Any:
        return self._run_with(slices_of(box[1:]), blocks, out, self._part(box))[None]

    def _inner(self, box: Box, windows: Sequence[Box], blocks: Sequence[Sequence[Block]]) -> Optional[Box]:
        return None
