"""How much is tested and from which seed: the profiles ci, dev, nightly and soak."""

from __future__ import annotations

import dataclasses
import os
import random

from hypothesis.errors import InvalidArgument


@dataclasses.dataclass(frozen=True)
class Profile:
    """A profile: calls for each test id, and the seed they are drawn from (None: a new one each run)."""

    name: str
    examples: int
    fixed_seed: int | None = None

    @property
    def seed(self) -> int:
        """The seed of this run."""
        return _run_seed() if self.fixed_seed is None else self.fixed_seed


PROFILES = {
    p.name: p
    for p in (
        Profile("ci", examples=100, fixed_seed=0),
        Profile("dev", examples=100),
        Profile("nightly", examples=2000),
        Profile("soak", examples=10_000),
    )
}

_ENVIRONMENT = "CONFORMANCE_PROFILE"
_SEED = "CONFORMANCE_SEED"  # handed to xdist workers, so that all of them draw from the seed that is printed
_chosen: dict[str, int | str] = {}


def _run_seed() -> int:
    seed = os.environ.get(_SEED)
    if seed is None:
        seed = str(random.SystemRandom().randrange(2**32))
        os.environ[_SEED] = seed
    return int(seed)


def select(name: str | None = None, *, examples: int | None = None, seed: int | None = None) -> Profile:
    """The profile in force from now on; without a name `ci` where the variable CI is set, else `dev`.

    Raises:
        hypothesis.errors.InvalidArgument: an unknown name, or no positive number of examples.
    """
    if name is not None and name not in PROFILES:
        raise InvalidArgument(f"{name!r} is no profile; the profiles are {', '.join(PROFILES)}")
    if examples is not None and examples < 1:
        raise InvalidArgument(f"examples={examples} must be at least 1")
    if name is not None:
        os.environ[_ENVIRONMENT] = name
    if seed is not None:
        os.environ[_SEED] = str(seed)
        _chosen["seed"] = seed
    if examples is not None:
        _chosen["examples"] = examples
    return current()


def current() -> Profile:
    """The profile in force."""
    base = PROFILES[os.environ.get(_ENVIRONMENT) or ("ci" if os.environ.get("CI") else "dev")]
    return dataclasses.replace(
        base,
        examples=int(_chosen.get("examples", base.examples)),
        fixed_seed=int(_chosen["seed"]) if "seed" in _chosen else base.fixed_seed,
    )
