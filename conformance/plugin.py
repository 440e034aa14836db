"""The pytest plugin: chooses the runtime before kernels are imported, adds the options, prints header and summary."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis.errors import InvalidArgument

from conformance import collection, profiles, runtime
from conformance.report.records import Report, results_document, save_finding
from conformance.report.documents import write_json
from conformance.report.summary import summary_lines


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("conformance", "kernel conformance")
    group.addoption(
        "--conformance-runtime",
        choices=("auto", "interpret", "gpu"),
        default="auto",
        help="where kernels run: on the CPU, or compiled on a CUDA device (default: gpu where there is one)",
    )
    group.addoption(
        "--conformance-profile",
        choices=tuple(profiles.PROFILES),
        default=None,
        help="how much is tested: ci (fixed seed), dev, nightly, soak (default: ci if the variable CI is set, else dev)",
    )
    group.addoption("--conformance-examples", type=int, metavar="N", help="calls for each test id, over the profile's")
    group.addoption("--conformance-seed", type=int, metavar="N", help="draw the calls from this seed")
    group.addoption("--conformance-json", metavar="PATH", help="write the results as JSON (`conformance report` reads it)")
    group.addoption(
        "--stock-interpreter",
        action="store_true",
        help="run Triton's own interpreter, without batching, tracing and repairs",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose runtime and profile; both must stand before test modules import kernels."""
    try:
        runtime.select(config.getoption("--conformance-runtime"), stock=config.getoption("--stock-interpreter"))
        profiles.select(
            config.getoption("--conformance-profile"),
            examples=config.getoption("--conformance-examples"),
            seed=config.getoption("--conformance-seed"),
        )
    except (runtime.RuntimeUnavailable, InvalidArgument) as error:
        raise pytest.UsageError(str(error)) from None
    profiles.current().seed  # noqa: B018 - fixes the seed before xdist starts workers, which inherit the environment
    config.addinivalue_line("markers", "gpu: needs a CUDA device")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_Workers(), "conformance-workers")


class _Workers:
    """Brings the reports of xdist workers to the controller."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what an ended worker found."""
        output = getattr(node, "workeroutput", {})
        collection.absorb(Report.from_json(r) for r in output.get("conformance", ()))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which runtime, versions, device, profile and seed are in use."""
    profile = profiles.current()
    found = runtime.versions()
    shown = ", ".join(f"{n} {found[n]}" for n in ("runtime", "torch", "triton", "cupy", "device"))
    return [
        f"conformance: {shown}",
        f"conformance: profile {profile.name}, {profile.examples} examples an id, seed {profile.seed}",
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the reports on from a worker; write the results file and the findings elsewhere."""
    if collection.worker():
        session.config.workeroutput["conformance"] = [r.to_json() for r in collection.reports()]  # type: ignore[attr-defined]
        return
    reports = collection.reports()
    for finding in (f for r in reports for f in r.findings):
        save_finding(finding)
    path = session.config.getoption("--conformance-json")
    if path and reports:
        write_json(path, results_document(reports))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the worst ratios, the counts of examples and the skips by reason."""
    lines = summary_lines(collection.reports())
    if lines:
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.write_line(line)
