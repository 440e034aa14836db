"""Makes docs/images/report.png: the HTML report on the example project, as a headless Chromium shows it.

Run `python docs/make_screenshot.py` from the root. It needs `chromium` (Debian: apt install chromium).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "my_kernels"
IMAGE = ROOT / "docs" / "images" / "report.png"
TARGETS = ("softmax_first", "softmax")
SIZE = "1360,1150"  # the matrix and the first finding with its picture


def main() -> None:
    """Write the picture.

    Raises SystemExit where there is no Chromium.
    """
    browser = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if browser is None:
        raise SystemExit("no chromium on the path")
    IMAGE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for target in TARGETS:
            command = ["check", f"my_kernels/softmax.py:{target}", "--op", "softmax", "--examples", "30"]
            dtypes = [part for dtype in ("float16", "float32") for part in ("--dtype", dtype)]
            where = ["--json", str(folder / f"{target}.json"), "--findings", str(folder)]
            subprocess.run([sys.executable, "-m", "conformance", *command, *dtypes, *where], cwd=EXAMPLE, check=False)
        for path in folder.glob("*.json"):  # the picture shows no folder of the machine that made it
            path.write_text(path.read_text(encoding="utf-8").replace(f"{EXAMPLE}/", ""), encoding="utf-8")
        results = [str(folder / f"{target}.json") for target in TARGETS]
        page = folder / "report.html"
        subprocess.run([sys.executable, "-m", "conformance", "report", *results, "-o", str(page)], check=True)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}"]
        options += [f"--user-data-dir={folder / 'profile'}", f"--screenshot={IMAGE}"]
        subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True, timeout=120)
    print(IMAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
