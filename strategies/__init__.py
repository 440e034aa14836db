"""What a call of a kernel looks like: Hypothesis strategies of tensors, scalars, calls and configs.

Imported as `import strategies as kst`.
"""

from strategies import shadows as shadows  # first: it looks for other packages of this name
from strategies.axes import Axis, at_most, ceil_div, derived, even, fixed, multiple_of, sizes
from strategies.calls import Call, calls
from strategies.configs import configs
from strategies.descriptions import TensorDescription
from strategies.distributions import DISTRIBUTIONS
from strategies.domains import Domain, bounded, integers, nonzero, positive, probabilities, real, ties, unit
from strategies.dtypes import BOOLS, FLOAT8S, FLOATS, HALVES, INDICES, INTEGERS, dtype_of, format_of, name_of
from strategies.fills import SPECIALS
from strategies.layouts import CONTIGUOUS, LAYOUTS, WRITABLE, Layout, Plan, huge, layout
from strategies.scalars import choices, epsilons, flags, rates, scales
from strategies.shapes import BLOCKS
from strategies.tensors import indices, masks, offsets, outputs, seeds, tensors
from strategies.values import LANES, PATTERNS, Values

__all__ = [
    "BLOCKS",
    "BOOLS",
    "CONTIGUOUS",
    "DISTRIBUTIONS",
    "FLOAT8S",
    "FLOATS",
    "HALVES",
    "INDICES",
    "INTEGERS",
    "LANES",
    "LAYOUTS",
    "PATTERNS",
    "SPECIALS",
    "WRITABLE",
    "Axis",
    "Call",
    "Domain",
    "Layout",
    "Plan",
    "TensorDescription",
    "Values",
    "at_most",
    "bounded",
    "calls",
    "ceil_div",
    "choices",
    "configs",
    "derived",
    "dtype_of",
    "epsilons",
    "even",
    "fixed",
    "flags",
    "format_of",
    "huge",
    "indices",
    "integers",
    "layout",
    "masks",
    "multiple_of",
    "name_of",
    "nonzero",
    "offsets",
    "outputs",
    "positive",
    "probabilities",
    "rates",
    "real",
    "scales",
    "seeds",
    "sizes",
    "tensors",
    "ties",
    "unit",
]
