"""Programs of the tests, compiled with little optimisation, and what they have in common."""

import functools
import os

import pipec

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")

SCALE = """
/// Multiplies.
pipeline scale(img: float32[R, C], k: float32 = 2) -> result: float32[R, C] { result(y, x) = k * img(y, x) }
"""
# A stage that needs a workspace, as it is read at many places.
SMOOTH = """
pipeline smooth(img: float32[R + 2, C + 2]) -> mean: float32[R, C] {
    rows(y, x) = sqrt(img(y, x)) + sqrt(img(y + 1, x)) + sqrt(img(y + 2, x))
    mean(y, x) = (rows(y, x) + rows(y, x + 1) + rows(y, x + 2)) / 9
}
"""
MANY = """
/// All kinds of ports.
/// In two lines.
pipeline many(a: uint8[3, R, C] order(1, 2, 0), b: int32[C], level: float32 = 0.5, n: int16, on: bool = true,
              h: float16 = 1.5) -> picture: uint8[3, R, C] order(1, 2, 0), total: float64[2]
    where n > 0, R < 1000 {
    picture(c, y, x) = if on then a(c, y, x) else uint8(255 - a(c, y, x))
    total(i) = float64(level) * float64(n) + float64(h) + float64(i) * float64(b(0))
}
"""
# Two outputs of different extents, a table, and a statistic.
LEVELS = """
import "boundary"
pipeline levels(img: float32[2 * R, 2 * C], table: float32[N], k: float32 = 1)
    -> fine: float32[2 * R, 2 * C], half: float32[R, C], total: float32[] {
    whole = clamp_to_edge(img)
    fine(y, x) = k * (whole(y - 1, x) + whole(y, x - 1) + whole(y, x + 1) + whole(y + 1, x))
    half(y, x) = (sum(i in 0..2, j in 0..2) fine(2 * y + i, 2 * x + j))
        + table(clamp(int32(9 * fine(2 * y, 2 * x)), 0, N - 1))
    total() = sum(y in 0..2 * R, x in 0..2 * C) img(y, x)
}
"""
TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
COPIES = "\n".join(
    f"pipeline copy_{t}(a: {t}[N]) -> b: {t}[N] {{ b(i) = a(N - 1 - i) }}" for t in TYPES
)
RAMP = "pipeline ramp(start: int32) -> line: int32[N] { line(x) = start + x }"
WINDOW = """
pipeline shift(img: float32[R]) -> moved: float32[R] where 0 <= S < R { moved(x) = img(min(x + S, R - 1)) }
"""
TAKEN = """
pipeline taken(lambda: float32[N], out: float32[N], None: int32 = 1) -> stream: float32[N] {
    stream(x) = lambda(x) + out(x) + None
}
"""


@functools.lru_cache(None)
def source(text, pipeline=None, **options):
    return pipec.source(text, pipeline, options=("-O1", "-w"), **options)
