"""Puts what is generated into README.md and docs/: the counterexample of the example project and the table of oracles.

Run `python docs/make_readme.py` from the root; with `--check` it writes nothing and fails where a file is out of date.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.report.explanations import LAUNCH, ORACLES

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "my_kernels"
FILES = (ROOT / "README.md", ROOT / "docs" / "explanation" / "oracles.md")
KINDS = {"exact": "exact lane", "refusals": "refusal", "crash": "launch"}


def oracle_table() -> str:
    """The table of oracles in Markdown."""
    rows = ["| oracle | kind | law |", "|---|---|---|"]
    for name, explanation in ORACLES.items():
        kind = "launch" if name in LAUNCH else KINDS.get(name, "relational")
        rows.append(f"| `{name}` | {kind} | {explanation.law} |")
    return "\n".join(rows)


def counterexample() -> str:
    """What `conformance check` prints of the first finding in the example's faulty kernel, up to its script."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "conformance",
            "check",
            "my_kernels/softmax.py:softmax_first",
            "--op",
            "softmax",
        ]
        options = ["--dtype", "float32", "--oracle", "launch", "--examples", "30", "--findings", folder]
        done = subprocess.run(
            [*command, *options], cwd=EXAMPLE, capture_output=True, text=True, check=False, timeout=300
        )
    if done.returncode != 1:
        raise SystemExit(f"the example's faulty kernel should be objected to:\n{done.stdout}{done.stderr}")
    first = done.stdout.partition("\n\nReproduce")[0]
    return "```text\n" + first.replace(f"{EXAMPLE}/", "") + "\n```"


def fill(text: str, parts: dict[str, str]) -> str:
    """The text with each part between its `begin` and `end` comments."""
    for name, part in parts.items():
        pattern = rf"(<!-- begin:{name} -->\n).*?(\n<!-- end:{name} -->)"
        text = re.sub(pattern, lambda found, part=part: found[1] + part + found[2], text, flags=re.DOTALL)
    return text


def main() -> None:
    """Renew the files, or check them."""
    parts = {"counterexample": counterexample(), "oracles": oracle_table()}
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
