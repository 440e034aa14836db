"""Which programs are ordered by atomics: a lock, a counter or a flag makes one program's accesses precede another's."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Ordering:
    """The happens-before relation that atomics establish, worked out when a hazard is found.

    An atomic with acquire or release semantics (all but `relaxed`) takes over what the earlier atomics on its address
    knew. Accesses that a program makes after its atomic count as if they came before it: this may miss a race, and
    never invents one.
    """

    def __init__(self, base: int) -> None:
        self.base = base
        self.pending: list[tuple[Array, Any]] = []
        self.known: dict[int, int] = {}  # program -> bits of the programs it is ordered after
        self.left: dict[int, int] = {}  # address -> bits that its atomics have published
        self.any = False

    def __bool__(self) -> bool:
        return self.any

    def add(self, addresses: Array, stamps: Any) -> None:
        """An atomic of these programs on these addresses, in the order of the lanes."""
        self.any = True
        self.pending.append((addresses, stamps))

    def _settle(self) -> None:
        for addresses, stamps in self.pending:
            for address, stamp in zip(
                addresses.tolist(), np.broadcast_to(stamps, addresses.shape).tolist(), strict=True
            ):
                bits = self.known.get(stamp, 0) | self.left.get(address, 0)
                self.known[stamp] = bits
                self.left[address] = bits | 1 << (stamp - self.base)
        self.pending.clear()

    def before(self, others: Array, mine: Any) -> Array:
        """Whether the program of each stamp in `others` is ordered before that in `mine`."""
        self._settle()
        pairs = zip(others.tolist(), np.broadcast_to(mine, others.shape).tolist(), strict=True)
        return np.array([bool(self.known.get(b, 0) >> max(a - self.base, 0) & 1) for a, b in pairs], np.bool_)
