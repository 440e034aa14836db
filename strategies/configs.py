"""Configs: strategies of meta-parameters (BLOCK sizes, num_warps, num_stages)."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis.strategies import SearchStrategy

from strategies.choices import Data, TableStrategy, entry, refuse


class ConfigStrategy(TableStrategy[dict[str, object]]):
    """A strategy of configs; made by `configs`."""

    def __init__(self, choices: dict[str, tuple[object, ...]]) -> None:
        super().__init__()
        self._choices = choices

    def __repr__(self) -> str:
        return f"configs({', '.join(f'{name}={list(values)}' for name, values in self._choices.items())})"

    def do_draw(self, data: Data) -> dict[str, object]:
        """A config."""
        return {name: entry(data, values) for name, values in self._choices.items()}


def configs(**choices: Sequence[object]) -> SearchStrategy[dict[str, object]]:
    """A strategy of configs: a dict with one of the given values for each meta-parameter, the first is the simplest.

    Give few values: each combination is compiled once and costs up to half a second on a GPU.

    >>> configs(BLOCK=[64, 128], num_warps=[1, 4])
    configs(BLOCK=[64, 128], num_warps=[1, 4])
    """
    checked = {}
    for name, values in choices.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise refuse(name, values, "give a list of at least one value")
        checked[name] = tuple(values)
    return ConfigStrategy(checked)
