"""Distributions: what random data looks like, as functions of a generator, a number of rows and a row length.

Each gives float64 numbers inside the range of the format, which the caller rounds to the element type. The comment at
a distribution says which faults it finds sooner than normal data does (measured on Triton kernels with planted faults).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy
import numpy.typing

from strategies.dtypes import Format

Array = numpy.typing.NDArray[Any]
Generator = numpy.random.Generator

_local = threading.local()
_MASK = 2**128 - 1
# odd 128-bit constants that spread small seeds over the whole state; the second is the increment of PCG64's own default
# stream (O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms, 2014)
_SPREAD = 0x9E3779B97F4A7C15F39CC0605CEDC835
_INCREMENT = 0x5851F42D4C957F2D14057B7EF767814F


def generator(seed: int) -> Generator:
    """The generator of this thread, put to the state of `seed`: making a new one costs 13 us, this 4."""
    try:
        made: Generator = _local.generator
    except AttributeError:
        made = _local.generator = numpy.random.Generator(numpy.random.PCG64(0))
    state = ((seed + 1) * _SPREAD) & _MASK
    state ^= state >> 61
    made.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": (state * _SPREAD) & _MASK, "inc": _INCREMENT},
        "has_uint32": 0,
        "uinteger": 0,
    }
    return made


def _signs(g: Generator, rows: int, n: int) -> Array:
    return 1.0 - 2.0 * g.integers(0, 2, (rows, n))


def normal(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Standard normal numbers."""
    return g.standard_normal((rows, n))


def uniform(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Uniform numbers in [-1, 1)."""
    return 2.0 * g.random((rows, n)) - 1.0


def positive(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Uniform numbers in [0.5, 1.5): sums grow, so that half-precision accumulators stall."""
    return g.random((rows, n)) + 0.5


def constant(g: Generator, rows: int, n: int, f: Format) -> Array:
    """One number everywhere: variances are zero, so that a misplaced eps shows."""
    return numpy.full((rows, n), g.standard_normal() * 2.0 ** float(g.integers(-6, 7)))


def smallint(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Integers from -4 to 4."""
    return g.integers(-4, 5, (rows, n)).astype(numpy.float64)


def offset(g: Generator, rows: int, n: int, f: Format) -> Array:
    """A mean far larger than the spread, the same sign along a row: E[x2] - E[x]2 cancels, exp overflows."""
    top = min(f.digits, 14)
    x: Array = _signs(g, rows, 1) * 2.0 ** (2.0 + (top - 2.0) * g.random()) + g.standard_normal((rows, n))
    return x


def cancel(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Pairs of opposite numbers a few ulp apart, shuffled: what is left of a sum is its rounding."""
    half = n // 2
    x = numpy.empty((rows, n))
    base = g.standard_normal((rows, half)) * 2.0 ** float(g.integers(-4, 5))
    x[:, :half] = base
    x[:, half : 2 * half] = -base * (1.0 + g.standard_normal((rows, half)) * 2.0 ** (2 - f.digits))
    if n % 2:
        x[:, -1] = g.standard_normal(rows) * 2.0**-f.digits
    shuffled: Array = x.take(g.permutation(n), axis=1)  # indexing would lay out the columns one after the other
    return shuffled


def onehot(g: Generator, rows: int, n: int, f: Format) -> Array:
    """One large number in each row of small ones: half accumulators and TF32 operands lose the small ones."""
    x: Array = g.standard_normal((rows, n)) * 2.0 ** (-10.0 * g.random())
    top = min(12.0, math.log2(f.largest) - 1.0)
    x[numpy.arange(rows), g.integers(0, n, rows)] = _signs(g, rows, 1)[:, 0] * 2.0 ** (top * g.random(rows))
    return x


def subnormal(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Numbers below the normal range: eps decides everything."""
    return _signs(g, rows, n) * g.integers(0, 2 ** (f.digits - 1), (rows, n)) * f.tiny


def logmid(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Magnitudes from 2**-8 to 2**8, evenly in the exponent: products keep few common bits."""
    top = min(8.0, math.log2(f.largest) - 1.0)
    return _signs(g, rows, n) * numpy.exp2((2.0 * g.random((rows, n)) - 1.0) * top)


def logfull(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Magnitudes of the whole format, subnormals included, evenly in the exponent."""
    low, high = math.log2(f.tiny), math.log2(f.largest)
    x = _signs(g, rows, n) * numpy.exp2(low + (high - low) * g.random((rows, n)))
    inside: Array = x.clip(-f.largest, f.largest)  # numpy.clip takes 7 us more
    return inside


def nearmax(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Magnitudes from an eighth of the largest number upwards: everything that is not scaled first overflows."""
    return _signs(g, rows, n) * (f.largest * (0.125 + 0.875 * g.random((rows, n))))


def allneg(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Negative numbers only: a padded lane that holds 0 wins the maximum."""
    return -numpy.exp2(9.0 * g.random((rows, n)) - 3.0)


# exp overflows float32 at 88.7 and float16 at 11.09, and gives subnormals below -87.3 and -9.7
_EDGES = numpy.array([0.0, 11.0, 12.0, -17.5, 88.0, 89.0, 90.0, -88.0, -89.0, -104.0])
_STEPS = numpy.array([0.0, 0.0, 0.5, 1.0 / 3.0])


def expedge(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Arguments at which exp overflows, underflows or turns subnormal."""
    x: Array = _EDGES[g.integers(0, len(_EDGES), (rows, n))] + _STEPS[g.integers(0, len(_STEPS), (rows, n))]
    return x


def sorted_rows(g: Generator, rows: int, n: int, f: Format) -> Array:
    """Rows in ascending order: the running maximum of an online softmax changes in every tile."""
    return numpy.sort(g.standard_normal((rows, n)) * 8.0, axis=1)


def ulpgrid(g: Generator, rows: int, n: int, f: Format) -> Array:
    """1 plus any number of ulp: double rounding and TF32 show."""
    return 1.0 + g.integers(0, 2 ** (f.digits - 1), (rows, n)) * 2.0 ** (1 - f.digits)


#: The distributions by name, the simplest first.
DISTRIBUTIONS: dict[str, Callable[[Generator, int, int, Format], Array]] = {
    "constant": constant,
    "smallint": smallint,
    "positive": positive,
    "uniform": uniform,
    "normal": normal,
    "sorted": sorted_rows,
    "allneg": allneg,
    "ulpgrid": ulpgrid,
    "onehot": onehot,
    "offset": offset,
    "cancel": cancel,
    "logmid": logmid,
    "expedge": expedge,
    "subnormal": subnormal,
    "logfull": logfull,
    "nearmax": nearmax,
}
