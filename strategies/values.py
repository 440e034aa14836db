"""Values: what a tensor holds, as a pattern, a distribution, a seed and at most four pinned elements.

Elements are never drawn one by one: a description of a few numbers is drawn instead and filled from a seeded
generator, 10 to 20 times as many examples a second, and without the constant arrays that hide shifted indices.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import torch

from strategies import fills
from strategies.choices import Data, integer, refuse, weighted
from strategies.distributions import DISTRIBUTIONS
from strategies.domains import REAL, Domain
from strategies.dtypes import format_of

#: The patterns, the simplest first.
PATTERNS = ("zeros", "ones", "ramp", "random", "exact", "special", "literal")
#: What a call may hold: ordinary numbers, small integers on which sums are exact, or NaN, infinities and their like.
LANES = ("numeric", "exact", "special")
_SEEDS = 2**16
_SHOWN = 8  # numbers of a literal that fit in a line
_KEPT = 2**14  # elements of a fill that is kept for the next oracle that asks for it; larger ones are made again


@dataclasses.dataclass(frozen=True, slots=True)
class Values:
    """What a tensor of any shape holds.

    `pattern` is one of `PATTERNS`; `distribution` names the kind of random, index, mask or special data; `pins` are
    (flat index, value) pairs, laid over it; `domain` is the set of allowed numbers; `ignore` marks entries of an index
    tensor that do not count. The values are constant along `repeated` axes (those with stride 0). `numbers` are the
    elements in C order where the pattern is "literal", as Python writes them, so that NaN equals itself and -0.0 is not
    0.0. Literals are not drawn: a call that was simplified has them.
    """

    pattern: str = "zeros"
    distribution: str = ""
    seed: int = 0
    pins: tuple[tuple[int, float], ...] = ()
    domain: Domain = REAL
    ignore: int | None = None
    repeated: tuple[int, ...] = ()
    numbers: tuple[str, ...] = ()

    def __hash__(self) -> int:
        # calls are hashed for each example: the domain is an argument's own, and differs in few of them
        return hash((self.pattern, self.distribution, self.seed, self.pins, self.repeated, self.numbers))

    def fill(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A new contiguous CPU tensor of `shape` with these values; the same for equal values, shape and dtype."""
        return self.shared(shape, dtype).clone()

    def shared(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """As `fill`, but a tensor that others may hold too: for reading only."""
        if math.prod(shape) > _KEPT:
            return _fill(self, shape, dtype)
        return _filled(self, shape, dtype)

    def prepare(self, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        """Make the tensor of `shared`, where it is small enough to be kept until that is called."""
        if math.prod(shape) <= _KEPT:
            _filled(self, shape, dtype)

    @classmethod
    def literal(cls, tensor: torch.Tensor, domain: Domain = REAL) -> Values:
        """The values of a tensor of few elements: zeros, ones, or its numbers.

        >>> Values.literal(torch.tensor([[1.0, 0.0], [0.5, 0.0]]))
        [1, 0, 0.5, 0]
        """
        numbers = tuple(repr(float(number)) for number in tensor.double().reshape(-1).tolist())
        for pattern, value in (("zeros", "0.0"), ("ones", "1.0")):
            if set(numbers) <= {value}:
                return cls(pattern, domain=domain)
        return cls("literal", domain=domain, numbers=numbers)

    def __repr__(self) -> str:
        if self.pattern == "literal":
            shown = [f"{float(number):g}" for number in self.numbers[:_SHOWN]]
            return "[" + ", ".join(shown) + (", ..." if len(self.numbers) > _SHOWN else "") + "]"
        parts = [self.distribution or self.pattern]
        if self.pattern in ("random", "special", "exact"):
            parts.append(f"seed={self.seed}")
        if self.pins:
            parts.append("pins=" + ", ".join(f"[{index}]={value:g}" for index, value in self.pins))
        if self.domain != REAL and self.domain.kind != "mask":
            parts.append(repr(self.domain))
        return " ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from zeros, as plain JSON."""
        record: dict[str, Any] = {"pattern": self.pattern}
        if self.distribution:
            record["distribution"] = self.distribution
        if self.seed:
            record["seed"] = self.seed
        if self.pins:
            record["pins"] = [[index, number_to_json(value)] for index, value in self.pins]
        if self.domain != REAL:
            record["domain"] = self.domain.to_json()
        if self.ignore is not None:
            record["ignore"] = self.ignore
        if self.repeated:
            record["repeated"] = list(self.repeated)
        if self.numbers:
            record["numbers"] = list(self.numbers)
        return record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Values:
        """The values of which `record` is the JSON form."""
        return cls(
            pattern=record["pattern"],
            distribution=record.get("distribution", ""),
            seed=record.get("seed", 0),
            pins=tuple((index, number_from_json(value)) for index, value in record.get("pins", ())),
            domain=Domain(*record["domain"]) if "domain" in record else REAL,
            ignore=record.get("ignore"),
            repeated=tuple(record.get("repeated", ())),
            numbers=tuple(record.get("numbers", ())),
        )


ZEROS = Values()


def number_to_json(value: float) -> float | str:
    """A number as JSON has it; what JSON lacks (NaN and infinities) as a string."""
    return value if math.isfinite(value) else str(value)


def number_from_json(value: float | str) -> float:
    """The inverse of `number_to_json`."""
    return float(value) if isinstance(value, str) else value


def _fill(values: Values, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    if values.pattern == "literal":
        made = torch.tensor([float(number) for number in values.numbers], dtype=torch.float64).to(dtype).reshape(shape)
        for axis in values.repeated:
            made = made.narrow(axis, 0, 1)
        return made.expand(shape).contiguous()
    cut = shape
    if values.repeated and 0 not in shape:
        cut = tuple(1 if axis in values.repeated else size for axis, size in enumerate(shape))
    made = fills.tensor(
        values.pattern, values.distribution, values.seed, values.pins, values.domain, values.ignore, cut, dtype
    )
    return made if cut == shape else made.expand(shape).contiguous()


# the tensors of as many calls as are prepared together (`conformance.explore`), and those that oracles make of them
_filled = functools.lru_cache(maxsize=512)(_fill)

# (pattern, distribution, pins, weight). The weights of the distributions are those measured to find planted faults
# soonest; three simple patterns and a few pins are what a counterexample shrinks to.
# Those with few different numbers stand last, so that they do not bar the way down to a ramp.
_NORMAL_MIX = (
    ("positive", 1), ("uniform", 1), ("normal", 8), ("sorted", 1), ("allneg", 2), ("ulpgrid", 2), ("onehot", 4),
    ("offset", 4), ("cancel", 4), ("logmid", 4), ("expedge", 2), ("subnormal", 4), ("logfull", 2), ("nearmax", 2),
    ("smallint", 1), ("constant", 2),
)  # fmt: skip
# where zeros, signs and huge magnitudes are no part of the domain, what is left of the mix
_DOMAIN_MIX = {
    "positive": (("positive", 4), ("uniform", 4), ("normal", 2), ("logmid", 4), ("logfull", 1), ("constant", 2)),
    "unit": (("positive", 2), ("uniform", 6), ("normal", 2), ("logmid", 2), ("subnormal", 1), ("constant", 2)),
    "probabilities": (("positive", 4), ("uniform", 4), ("normal", 2), ("logmid", 4), ("onehot", 4), ("constant", 2)),
    "ties": (("normal", 4), ("sorted", 4), ("logmid", 2), ("smallint", 4)),
    "integers": (("normal", 4), ("sorted", 4), ("logmid", 2), ("smallint", 4)),
    "bounded": (("positive", 2), ("uniform", 6), ("normal", 4), ("sorted", 2), ("logmid", 2), ("constant", 2)),
}
Style = tuple[str, str, int]


def pins_menu(dtype: torch.dtype) -> tuple[float, ...]:
    """The finite numbers that are pinned into data of a floating type, the simplest first."""
    return _pins_menu(dtype)


@functools.lru_cache(maxsize=64)
def _pins_menu(dtype: torch.dtype) -> tuple[float, ...]:
    f = format_of(dtype)
    # 4096 swallows ones in half precision; 88 is the last whole number whose exp float32 holds
    menu = [1.0, 0.0, -1.0, 4096.0, 88.0, -88.0, f.largest, -f.largest, f.tiny, -0.0]
    return tuple(value for value in menu if abs(value) <= f.largest)


@functools.lru_cache(maxsize=256)
def styles(
    dtype: torch.dtype,
    lane: str,
    domain: Domain,
    ignore: int | None,
    specials: tuple[str, ...],
    names: tuple[str, ...] | None = None,
) -> tuple[Style, ...]:
    """The table of (pattern, distribution, number of pins) from which the values of an argument are drawn.

    `names` narrows the numeric lane of floating types to some patterns and distributions.
    """
    if names is not None and dtype.is_floating_point and lane == "numeric":
        return tuple((name, "", 0) if name in PATTERNS else ("random", name, 0) for name in names)
    if domain.kind == "mask" or dtype == torch.bool:
        return weighted(
            [(("ones", "", 0), 2), (("zeros", "", 0), 1), *((("random", name, 0), 2) for name in fills.SHADES)]
        )
    if not dtype.is_floating_point:
        rows: list[tuple[Style, int]] = [(("zeros", "", 0), 1), (("ones", "", 0), 1), (("ramp", "", 0), 2)]
        if lane == "exact" and domain.kind != "integers":
            return weighted([*rows, (("random", "small", 0), 12)])
        if domain.kind == "integers":
            rows += [(("random", name, 0), 3) for name in ("same", "edges", "few", "any")]
            if ignore is not None:
                rows += [(("random", "ignored", 0), 4), (("random", "all_ignored", 0), 2)]
        else:
            rows += [(("random", "small", 0), 6), (("random", "edges", 0), 3), (("random", "any", 0), 4)]
        return weighted(rows)
    simple: list[tuple[Style, int]] = [(("zeros", "", 0), 1), (("ones", "", 0), 2), (("ramp", "", 0), 3)]
    if lane == "exact":
        return weighted([*simple[:1], (("exact", "ones", 0), 3), (("exact", "signed", 0), 20)])
    if lane == "special":
        plain = [(("random", name, 0), 2) for name in ("normal", "offset", "onehot")]
        # rows that start with -inf tell something where that is a whole block, and few are long enough
        return weighted([*simple, *((("special", n, 0), 5 if n == "start_neginf" else 2) for n in specials), *plain])
    pinned: list[tuple[Style, int]] = [(("zeros", "", 1), 2), (("ones", "", 1), 3)]
    mix = _DOMAIN_MIX.get(domain.kind, _NORMAL_MIX)
    scale = 1 if len(mix) > 10 else 2
    random: list[tuple[Style, int]] = [(("random", name, 0), weight * scale) for name, weight in mix]
    few: list[tuple[Style, int]] = [(("random", "normal", count), 1) for count in (1, 2, 4)]
    return weighted([*simple[:2], *pinned, simple[2], *random, *few])


def check_specials(special: tuple[str, ...]) -> tuple[str, ...]:
    """`special`, each a name of `SPECIALS`. Raises InvalidArgument otherwise."""
    for name in special:
        if name not in fills.SPECIALS:
            raise refuse("special", special, f"{name!r} is no special pattern; there are {', '.join(fills.SPECIALS)}")
    if isinstance(special, str) or not special:
        raise refuse("special", special, "give a tuple of names from kst.SPECIALS")
    return tuple(special)


def check_names(values: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """`values`, each a simple pattern or a distribution. Raises InvalidArgument otherwise."""
    if values is None:
        return None
    known = (*PATTERNS[:3], *DISTRIBUTIONS)
    if isinstance(values, str) or not values:
        raise refuse("values", values, "give a tuple of names from kst.PATTERNS and kst.DISTRIBUTIONS, or None")
    for name in values:
        if name not in known:
            raise refuse("values", values, f"{name!r} is no pattern or distribution; there are {', '.join(known)}")
    return tuple(values)


def draw_seed(data: Data) -> int:
    """A seed; 0 is the simplest."""
    return integer(data, 0, _SEEDS - 1)


def draw_pins(data: Data, count: int, numel: int, dtype: torch.dtype) -> tuple[tuple[int, float], ...]:
    """`count` pinned elements of a tensor with `numel` elements, ordered by position."""
    if not numel:
        return ()
    menu = pins_menu(dtype)
    pins = {}
    for _ in range(count):
        where, what = divmod(integer(data, 0, numel * len(menu) - 1), len(menu))
        pins[where] = menu[what]
    return tuple(sorted(pins.items()))
