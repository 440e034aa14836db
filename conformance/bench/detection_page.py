"""The page and the plot of `conformance bench detection`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
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
            "| way to test | caught | of | false alarms | CPU seconds |",
            "|---|---:|---:|---:|---:|",
            *(
                f"| {name} | {r['caught']} | {r['applicable']} | {r['false_alarms']} | {r['seconds']} |"
                for name, r in regimes.items()
            ),
            "",
            *_best(regimes),
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
            "| fault | class | oracle | examples | seconds | " + " | ".join(rivals) + " |",
            "|---|---|---|---:|---:|" + "---|" * len(rivals),
            *(_fault(each, rivals) for each in data["faults"]),
            "",
        ]
    )


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
    "- **CPU seconds** are those to the first failure that counts, or to the end, of one process.",
    "",
    "![Faults caught by each way to test](detection.svg)",
    "",
)


def _best(regimes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    suite, *rivals = regimes
    if not rivals:
        return []
    best = max(rivals, key=lambda name: regimes[name]["caught"] / regimes[name]["applicable"])
    own, other = regimes[suite], regimes[best]
    ratio = (own["caught"] / own["applicable"]) / max(other["caught"] / other["applicable"], 1 / other["applicable"])
    return [f"The strongest of the others is *{best}*; {suite} catches {ratio:.2f} times its share of the faults."]


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
        counts = [sum(each["rivals"].get(name, False) for each in own) for name in rivals]
        cells = " | ".join(map(str, [len(own), sum(each["caught"] for each in own), *counts]))
        lines.append(f"| {klass} | {cells} |")
    return lines


def _fault(each: Mapping[str, Any], rivals: list[str]) -> str:
    marks = " | ".join(
        "caught" if each["rivals"].get(name) else "" if name in each["rivals"] else "n/a" for name in rivals
    )
    oracle = each["oracle"] or "missed"
    return f"| {each['name']} | {each['class']} | {oracle} | {each['examples']} | {each['seconds']:.2f} | {marks} |"


def plot(data: Mapping[str, Any], path: Path) -> bool:
    """Draw the bars of the regimes; False where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    os.environ.setdefault("MPLBACKEND", "svg")
    from matplotlib import pyplot  # optional: only this page has a plot

    regimes = {name: r for name, r in data["regimes"].items() if r["caught"] is not None}
    names = list(regimes)[::-1]
    most = max(r["applicable"] for r in regimes.values())
    figure, axes = pyplot.subplots(figsize=(8, 0.6 * len(names) + 1))
    bars = axes.barh(names, [regimes[name]["caught"] for name in names], color="#4878a8")
    axes.bar_label(bars, [f"{regimes[name]['caught']} of {regimes[name]['applicable']}" for name in names], padding=3)
    axes.set_xlim(0, 1.12 * most)
    axes.set_xlabel("faults caught")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True
