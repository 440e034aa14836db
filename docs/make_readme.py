"""Puts what is generated into README.md and docs/: the counterexample of the example project and the table of oracles.

Run `python docs/make_readme.py` from the root; with `--check` it writes nothing and fails where a file is out of date.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import pytest

from conformance import plugin
from conformance.cli import main as main_command
from conformance.report.explanations import LAUNCH, ORACLES

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "my_kernels"
FILES = (
    ROOT / "README.md",
    ROOT / "docs" / "explanation" / "oracles.md",
    ROOT / "docs" / "reference" / "command-line.md",
)
KINDS = {
    "exact": "exact lane",
    "refusals": "refusal",
    "crash": "launch",
    "offsets": "launch; lane of huge strides",
    "special_values": "lane of special values",
}
# Run after the test in the README, for the finding that names the line; others show what follows from it.
BOUNDS_FINDING = """
import conformance
from conformance.report import render

report = conformance.check(softmax_first, softmax, examples=30, oracles=["launch"], seed=0)
print(render(next(finding for finding in report.findings if finding.oracle == "bounds")))
"""


def oracle_table() -> str:
    """The table of oracles in Markdown."""
    rows = ["| oracle | kind | law |", "|---|---|---|"]
    for name, explanation in ORACLES.items():
        kind = KINDS.get(name, "launch" if name in LAUNCH else "relational")
        rows.append(f"| `{name}` | {kind} | {explanation.law} |")
    return "\n".join(rows)


def counterexample() -> str:
    """What `bounds` says in the test at the top of the README of the example's faulty kernel, up to the script."""
    test = re.search(r"```python\n(.*?)```", FILES[0].read_text(encoding="utf-8"), re.DOTALL)
    if test is None:
        raise SystemExit("README.md has no Python block, which should be a test")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(EXAMPLE), str(ROOT), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test_softmax.py"
        file.write_text(test[1] + BOUNDS_FINDING, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(file)],
            cwd=EXAMPLE, env=environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"the example's faulty kernel should be objected to:\n{done.stdout}{done.stderr}")
    first = done.stdout.partition("\n\nReproduce")[0]
    return "```text\n" + first + "\n```"


def commands() -> str:
    """The help of each command, in Markdown."""
    parts = []
    for name, command in sorted(main_command.commands.items()):
        with click.Context(
            command, info_name=f"conformance {name}", max_content_width=100, terminal_width=100
        ) as context:
            parts.append(f"## conformance {name}\n\n```text\n{command.get_help(context)}\n```")
    return "\n\n".join(parts)


def options() -> str:
    """The options of pytest that the plugin adds, in Markdown."""
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    rows = ["| option | meaning |", "|---|---|"]
    for option in parser.getgroup("conformance").options:
        attributes = option.attrs()
        choices = attributes.get("choices")
        value = r"\|".join(choices) if choices else attributes.get("metavar") or ""
        rows.append(f"| `{f'{option.names()[0]} {value}'.strip()}` | {attributes['help']} |")
    return "\n".join(rows)


def fill(text: str, parts: dict[str, str]) -> str:
    """The text with each part between its `begin` and `end` comments."""
    for name, part in parts.items():
        pattern = rf"(<!-- begin:{name} -->\n).*?(\n<!-- end:{name} -->)"
        text = re.sub(pattern, lambda found, part=part: found[1] + part + found[2], text, flags=re.DOTALL)
    return text


def main() -> None:
    """Renew the files, or check them."""
    parts = {
        "counterexample": counterexample(),
        "oracles": oracle_table(),
        "commands": commands(),
        "options": options(),
    }
    if "--check" in sys.argv:
        del parts["commands"]  # how help is laid out is click's, and differs between its versions
    stale = []
    for path in FILES:
        old = path.read_text(encoding="utf-8")
        new = fill(old, parts)
        if new != old and "--check" in sys.argv:
            stale.append(str(path.relative_to(ROOT)))
        elif new != old:
            path.write_text(new, encoding="utf-8")
    if stale:
        raise SystemExit(f"out of date: {', '.join(stale)}; run python docs/make_readme.py")


if __name__ == "__main__":
    main()
