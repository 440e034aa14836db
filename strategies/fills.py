"""Fills: the numbers of a tensor made from a pattern, a distribution and a seed, row by row along the last axis."""

from __future__ import annotations

import math

import numpy
import torch

from strategies.distributions import DISTRIBUTIONS, Array, Generator, generator, normal
from strategies.domains import Domain
from strategies.dtypes import Format, format_of

#: What special data holds, the simplest first.
SPECIALS = (
    "one_nan",
    "one_inf",
    "one_neginf",
    "one_negzero",
    "all_negzero",
    "row_neginf",
    "start_neginf",
    "all_neginf",
    "all_inf",
    "all_nan",
    "inf_pair",
    "one_max",
    "all_max",
    "row_lowest",
    "subnormals",
    "near_overflow",
    "downcast",
    "mixed",
)
#: How index tensors are filled, the simplest first.
SPREADS = ("same", "edges", "few", "any", "ignored", "all_ignored", "unique", "unique_ignored")
#: How offsets are filled: parts of one length, one part that holds everything, lengths of which many are 0.
CUTS = ("even_cuts", "one_cut", "random_cuts")
#: How masks are filled, beside all true (`ones`) and all false (`zeros`), the simplest first.
SHADES = ("causal", "prefix", "dead_rows", "random")


def real_values(pattern: str, name: str, seed: int, rows: int, n: int, f: Format) -> Array:
    """Numbers of a floating type, `rows` by `n`, before pins and domain."""
    if pattern == "zeros":
        return numpy.zeros((rows, n))
    if pattern == "ones":
        return numpy.ones((rows, n))
    if pattern == "ramp":
        # all different over more than a tile's edge and exact in 8 bits; a prime period, so that rows of a power-of-two
        # length differ; in 4 bits there are only the small integers
        period = 113 if f.digits >= 8 else 15
        return ((numpy.arange(rows * n) % period + 1) / (16.0 if f.digits >= 8 else 4.0)).reshape(rows, n)
    if pattern == "random":
        return DISTRIBUTIONS[name](generator(seed), rows, n, f)
    if pattern == "exact":
        return exact(name, generator(seed), rows, n, f.digits)
    return special(name, generator(seed), rows, n, f)


def exact(name: str, g: Generator, rows: int, n: int, digits: int) -> Array:
    """Small integers ("signed" or "ones"), so sparse that every sum of them, and of products of two such, is exact.

    With at most `k` elements other than zero, none above `m`, every partial sum of products stays below k * m * m,
    which is kept within the 2**digits integers that the element type itself holds; so it holds in any order and any
    accumulator that is not narrower. The idea of a density that falls as the sums grow is that of oneDNN's benchdnn.
    """
    room = 2**digits
    largest = 1 if name == "ones" or room < 64 else (4, 2, 1)[int(g.integers(0, 3))]
    if name == "ones":
        x = numpy.ones((rows, n))
    else:
        x = g.integers(1, largest + 1, (rows, n)) * (1.0 - 2.0 * g.integers(0, 2, (rows, n)))
    flat: Array = x.reshape(-1)
    keep = room // (largest * largest)
    if flat.size > keep:
        flat[g.permutation(flat.size)[keep:]] = 0.0
    return flat.reshape(rows, n)


def special(name: str, g: Generator, rows: int, n: int, f: Format) -> Array:
    """Normal numbers with the special values of `name` in them (all of `SPECIALS` hold for every floating type)."""
    x = normal(g, rows, n, f)
    what, _, value = name.partition("_")
    number = {
        "nan": math.nan,
        "inf": math.inf,
        "neginf": -math.inf,
        "negzero": -0.0,
        "max": f.largest,
        "lowest": -f.largest,  # beside which any other start of a maximum than -inf is the larger one
    }.get(value)
    if what == "all" and number is not None:
        x[:] = number
    elif what == "one" and number is not None:
        x.reshape(-1)[int(g.integers(0, x.size))] = number
    elif what == "row" and number is not None:
        x[int(g.integers(0, rows))] = number
    elif what == "start" and number is not None:
        # the scores of a left-padded sequence: blocks of them are masked while the row is not
        x[numpy.arange(n) < g.integers(0, n + 1, (rows, 1))] = number
    elif name == "inf_pair":
        row = int(g.integers(0, rows))
        at = g.permutation(n)[:2]
        x[row, at] = (math.inf, -math.inf)[: len(at)]
    elif name == "subnormals":
        x = g.integers(-(2 ** (f.digits - 1)) + 1, 2 ** (f.digits - 1), (rows, n)) * f.tiny
    elif name == "near_overflow":
        # squares and sums overflow, the numbers themselves do not
        x = numpy.sign(x) * f.largest * (0.25 + 0.75 * g.random((rows, n)))
    elif name == "downcast":
        x = _OVERFLOWING[g.integers(0, len(_OVERFLOWING), (rows, n))]
        x = numpy.where(numpy.abs(x) <= f.largest, x, numpy.sign(x) * f.largest)
    elif name == "mixed":
        menu = numpy.array(
            [math.nan, math.inf, -math.inf, -0.0, 0.0, f.largest, -f.largest, f.tiny, -f.tiny, f.smallest]
        )
        x = numpy.where(g.random((rows, n)) < 0.3, menu[g.integers(0, len(menu), (rows, n))], x)
    return x


# the largest numbers that round down to the largest of a narrower type and the first that do not: float8_e4m3fn
# (448, 464), float16 and float8_e5m2 (57344, 61440, 65504, 65519, 65520), bfloat16 (3.3895e38 and half an ulp more)
_OVERFLOWING = numpy.array(
    [448.0, 464.0, 480.0, 57344.0, 61440.0, 65504.0, 65519.0, 65520.0, 3.3895313892515355e38, 3.3961775292304601e38,
     -464.0, -65520.0, 1.0]
)  # fmt: skip


def whole_values(
    pattern: str, name: str, seed: int, rows: int, n: int, low: int, high: int, ignore: int | None
) -> numpy.typing.NDArray[numpy.int64]:
    """Whole numbers from `low` to `high`, `rows` by `n`; `ignore` is the mark of an entry that does not count."""
    if pattern in ("zeros", "ones"):
        value = min(max(low, int(pattern == "ones")), high)
        return numpy.full((rows, n), value, numpy.int64)
    if pattern == "ramp":
        start = min(max(low, 0), high)
        return (start + numpy.arange(rows * n) % min(high - start + 1, 2**31)).reshape(rows, n)
    g = generator(seed)
    if name == "small":
        # products of two int8 numbers up to 4 stay exact for sums of 7 elements; wider integers for all that fit a test
        return g.integers(max(low, -4), min(high, 4), (rows, n), endpoint=True)
    if name == "all_ignored" and ignore is not None:
        return numpy.full((rows, n), ignore, numpy.int64)
    if name in CUTS:
        return _cuts(name, g, rows, n, high)
    if name in ("unique", "unique_ignored"):
        x = low + g.permutation(high - low + 1)[: rows * n].reshape(rows, n)
        return x if name == "unique" or ignore is None else numpy.where(g.random((rows, n)) < 0.4, ignore, x)
    if name == "same":
        return numpy.full((rows, n), g.integers(low, high, endpoint=True), numpy.int64)
    if name == "edges":
        edges = numpy.array([low, high, min(max(0, low), high), min(low + 1, high), max(high - 1, low)], numpy.int64)
        x = edges[g.integers(0, len(edges), (rows, n))]
    elif name == "few":
        x = g.integers(low, high, (4,), endpoint=True)[g.integers(0, 4, (rows, n))]
    else:
        x = g.integers(low, high, (rows, n), endpoint=True)
    if name == "ignored" and ignore is not None:
        x = numpy.where(g.random((rows, n)) < 0.4, ignore, x)
    return x


def _cuts(name: str, g: Generator, rows: int, n: int, high: int) -> numpy.typing.NDArray[numpy.int64]:
    """Rows that rise from 0 to `high`: where parts of an axis begin, and the end."""
    if name == "even_cuts":
        return numpy.tile(numpy.arange(n) * high // max(n - 1, 1), (rows, 1))
    if name == "one_cut":
        x = numpy.where(numpy.arange(n) > g.integers(0, max(n - 1, 1), (rows, 1)), high, 0)
    else:
        # a third of the cuts fall on another one: an empty part
        x = g.integers(0, high, (rows, n), endpoint=True)
        x = numpy.sort(numpy.where(g.random((rows, n)) < 0.33, x[:, :1], x), axis=1)
    x[:, 0], x[:, -1] = 0, high
    return x.astype(numpy.int64)


def truth_values(pattern: str, name: str, seed: int, rows: int, n: int) -> numpy.typing.NDArray[numpy.bool_]:
    """True and false, `rows` by `n`."""
    if pattern == "zeros":
        return numpy.zeros((rows, n), bool)
    if pattern == "ones":
        return numpy.ones((rows, n), bool)
    if pattern == "ramp":
        two_of_three: numpy.typing.NDArray[numpy.bool_] = numpy.arange(rows * n) % 3 != 0
        return two_of_three.reshape(rows, n)
    column = numpy.arange(n)
    if name == "causal":
        # the last row sees everything, as in decoding with a cache
        return column[None, :] <= numpy.arange(rows)[:, None] + max(n - rows, 0)
    g = generator(seed)
    if name == "prefix":
        return column[None, :] < g.integers(0, n + 1, (rows, 1))
    x = g.random((rows, n)) < (0.1, 0.5, 0.9)[int(g.integers(0, 3))]
    if name == "dead_rows":
        dead = g.random(rows) < 0.5
        dead[int(g.integers(0, rows))] = True
        x[dead] = False
    return x


def tensor(
    pattern: str,
    name: str,
    seed: int,
    pins: tuple[tuple[int, float], ...],
    domain: Domain,
    ignore: int | None,
    shape: tuple[int, ...],
    dtype: torch.dtype,
) -> torch.Tensor:
    """A contiguous CPU tensor with these values."""
    numel = math.prod(shape)
    if not numel:
        return torch.empty(shape, dtype=dtype)
    n = shape[-1] if shape else 1
    rows = numel // n
    if dtype.is_floating_point:
        f = format_of(dtype)
        x: numpy.typing.NDArray[numpy.generic] = real_values(pattern, name, seed, rows, n, f)
        if pins:
            flat = x.reshape(-1)
            for index, value in pins:
                flat[index % numel] = value
            x = flat.reshape(rows, n)
        x = domain.project(x, f)
    elif dtype == torch.bool or domain.kind == "mask":
        x = truth_values(pattern, name, seed, rows, n)
        if pins:
            flat = x.reshape(-1)
            for index, value in pins:
                flat[index % numel] = bool(value)
            x = flat.reshape(rows, n)
    else:
        limits = torch.iinfo(dtype)
        low, high = domain.whole(limits.min, limits.max)
        x = whole_values(pattern, name, seed, rows, n, low, high, ignore)
        if pins:
            flat = x.reshape(-1)
            for index, value in pins:
                flat[index % numel] = value if value == ignore else min(max(int(value), low), high)
            x = flat.reshape(rows, n)
    if dtype == torch.float32:  # the usual case, in a quarter of torch's time
        return torch.from_numpy(x.astype(numpy.float32).reshape(shape))
    return torch.from_numpy(x.reshape(shape)).to(dtype)
