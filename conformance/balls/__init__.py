"""Ball arithmetic: reference value and error bound from one piece of torch code."""

from conformance.balls.enclosure import Ball, enclose
from conformance.balls.judgement import Verdict, bound, judge, undecided

__all__ = ["Ball", "Verdict", "bound", "enclose", "judge", "undecided"]
