"""Autotuned kernels without a driver: every config on request, and a tuner that runs kernels but times nothing."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner

from conformance import observation as observing

_seen: weakref.WeakSet[Autotuner] = weakref.WeakSet()


def _bench(kernel_call: Callable[[], Any], quantiles: Sequence[float] = ()) -> list[float]:
    """Equal times for every config, so that the first one wins; the kernel runs once, as any benchmark runs it."""
    kernel_call()
    return [0.0] * max(1, len(quantiles))


def forget_tuning() -> None:
    """Nothing; autotuned kernels that ran so far tune again at their next launch, as in a fresh process."""
    for tuner in _seen:
        tuner.cache.clear()


def patch() -> None:
    """Let `triton.autotune` work where no driver is active."""
    own = Autotuner.run

    def do_bench(self: Any) -> Any:
        return _bench if self._do_bench is None else self._do_bench

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        _seen.add(self)
        observation = observing.current()
        if observation is None:
            return own(self, *args, **kwargs)
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        configs = self.prune_configs(kwargs)
        observation.configs = max(observation.configs, len(configs))
        chosen = observation.config
        if chosen is None and observation.tune and not observation.dry:
            self.cache.clear()
            return own(self, *args, **kwargs)
        if chosen is None and self._do_bench is not None and not observation.dry:
            return own(self, *args, **kwargs)
        # a tuner that times nothing chooses the first config
        config = configs[(chosen or 0) % len(configs)]
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result

    Autotuner.do_bench = property(do_bench)
    Autotuner.run = run
