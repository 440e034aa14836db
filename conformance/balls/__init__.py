"""Ball arithmetic: reference value and error bound from one piece of torch code."""

from conformance.balls.enclosure import Ball, enclose
from conformance.balls.judgement import Verdict, judge, undecided

__all__ = ["Ball", "Verdict", "enclose", "judge", "undecided"]
