"""The page and the plot of `conformance bench detection`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.bench.peers import PEERS


def markdown(data: Mapping[str, Any]) -> str:
    """The page: the ways to test, the classes of faults, then each fault."""
    regimes = {name: regime for name, regime in data["regimes"].items() if regime["caught"] is not None}
    suite, *rivals = regimes
    return "\n".join(
        [
            *_HEAD,
            "| way to test | caught | of | as soon as the suite | false alarms | CPU seconds |",
            "|---|---:|---:|---:|---:|---:|",
            *(
                f"| {name} | {' | '.join(str(regime[column]) for column in _COLUMNS)} |"
                for name, regime in regimes.items()
            ),
            "",
            *_best(regimes),
            *_alone(data["faults"]),
            *_peers(data["regimes"]),
            "",
            "## By class",
            "",
            "The classes are those of `conformance.faults.fault`.",
            "",
            f"| class | faults | {suite} | " + " | ".join(rivals) + " |",
            "|---|---:|---:|" + "---:|" * len(rivals),
            *_classes(data["faults"], rivals),
            "",
            "## Faults",
            "",
            "CPU seconds to the failure that counts; nothing where there was none.",
            "",
            "| fault | class | oracle | examples | seconds | " + " | ".join(rivals) + " |",
            "|---|---|---|---:|---:|" + "---:|" * len(rivals),
            *(_fault(each, rivals) for each in data["faults"]),
            "",
        ]
    )


_COLUMNS = ("caught", "applicable", "as_soon", "false_alarms", "seconds")

_HEAD = (
    "# Detection",
    "",
    "Made by `python -m conformance bench detection --peers`. Each fault is a kernel of `conformance/faults/` that is",
    "wrong on purpose; those that need a GPU to show are left out.",
    "",
    "- **The suite** checks each with its defaults (every oracle, 100 examples for each test id, seed 0), as",
    "  `conformance.check` does, to its first finding.",
    "- **The others** get the same kernels, and arguments whose sizes and index values are right for the op. Each has",
    "  as many CPU seconds for a fault as the suite took, or as it takes on average where that is more. Fixed lists of",
    "  calls are run to their end whatever they take; drawn calls go on until the seconds are spent, and are 25 in",
    "  each dtype at least.",
    "- **A fault is caught** where a test fails on it that passes on its repaired twin; a process that ends is a",
    "  failure too. Tests that fail on the twin as well are taken out, as their author would, and the rest is tried",
    "  again: the *false alarms* are the twins on which there was such a failure, within the seconds that the faulty",
    "  kernel took to fail.",
    "- **CPU seconds** are those to the first failure that counts, or to the end, of one process. *As soon as the",
    "  suite* are the faults caught in no more of them than the suite took for the same fault.",
    "",
    "![Faults caught by each way to test within so many CPU seconds for each fault](detection.svg)",
    "",
)


def _best(regimes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    suite, *rivals = regimes
    if not rivals:
        return []
    sentences = []
    for count, when in (
        ("caught", "With at least the suite's seconds"),
        ("as_soon", "In no more seconds than the suite took for the same fault"),
    ):
        shares = {name: regimes[name][count] / regimes[name]["applicable"] for name in regimes}
        best = max(rivals, key=lambda name: shares[name])
        ratio = f"the suite catches {shares[suite] / shares[best]:.2f} times its share" if shares[best] else "with none"
        sentences.append(f"{when}, the strongest of the others is *{best}*: {ratio}.")
    return ["\n".join(sentences)]


def _alone(faults: Sequence[Mapping[str, Any]]) -> list[str]:
    alone = [each["name"] for each in faults if not any(tried["caught"] for tried in each["rivals"].values())]
    return [f"{len(alone)} of the {len(faults)} faults are caught by none of the others."]


def _peers(regimes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = ["", "The published tools, installed from the package registry in environments of their own:", ""]
    for peer in PEERS:
        regime = regimes[peer.name]
        reason = f" Not measured: {regime['reason']}." if regime["caught"] is None else ""
        kernels = "Triton and CUDA" if peer.cuda else "Triton alone"
        lines.append(f"- `{' '.join(peer.requirements)}`, {kernels}: {peer.driven}.{reason}")
    return lines


def _classes(faults: list[Mapping[str, Any]], rivals: list[str]) -> list[str]:
    lines = []
    for klass in sorted({each["class"] for each in faults}):
        own = [each for each in faults if each["class"] == klass]
        counts = [sum(each["rivals"].get(name, {}).get("caught", False) for each in own) for name in rivals]
        cells = " | ".join(map(str, [len(own), sum(each["caught"] for each in own), *counts]))
        lines.append(f"| {klass} | {cells} |")
    return lines


def _fault(each: Mapping[str, Any], rivals: list[str]) -> str:
    marks = " | ".join(_seconds(each["rivals"].get(name)) for name in rivals)
    oracle = each["oracle"] or "missed"
    return f"| {each['name']} | {each['class']} | {oracle} | {each['examples']} | {each['seconds']:.2f} | {marks} |"


def _seconds(attempt: Mapping[str, Any] | None) -> str:
    if attempt is None:
        return "n/a"
    return f"{attempt['seconds']:.2f}" if attempt["caught"] else ""


def plot(data: Mapping[str, Any], path: Path) -> bool:
    """Draw the faults caught by each regime over the CPU seconds for each; False where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    os.environ.setdefault("MPLBACKEND", "svg")
    from matplotlib import pyplot  # optional: only this page has a plot

    suite, *rivals = [name for name, regime in data["regimes"].items() if regime["caught"] is not None]
    taken = {suite: sorted(each["seconds"] for each in data["faults"] if each["caught"])}
    for name in rivals:
        attempts = [each["rivals"][name] for each in data["faults"] if name in each["rivals"]]
        taken[name] = sorted(each["seconds"] for each in attempts if each["caught"])
    last = max(seconds[-1] for seconds in taken.values() if seconds)
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for name, seconds in taken.items():
        # below a hundredth is the resolution of the clock
        steps = [max(each, 0.01) for each in seconds]
        axes.step(
            [*steps, last], [*range(1, len(steps) + 1), len(steps)], where="post", label=f"{name}: {len(steps)}",
            linewidth=2.5 if name == suite else 1.2,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02 * len(data["faults"]))
    axes.set_xlabel("CPU seconds for each fault")
    axes.set_ylabel(f"faults caught, of {len(data['faults'])}")
    axes.legend(loc="upper left", fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True
