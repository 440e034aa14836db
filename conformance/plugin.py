"""The pytest plugin: chooses the runtime before kernels are imported, adds the options, prints header and summary."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import pytest
from hypothesis.errors import InvalidArgument

from conformance import profiles, runtime
from conformance.device import policy, sanitizer, watch
from conformance.failures import ConformanceFailure, Objections
from conformance.report import collection
from conformance.report.documents import missing_folder
from conformance.report.records import Report, save_findings
from conformance.report.summary import header_line, summary_lines
from conformance.report.trust import mistrusted

_REPORTS = "conformance_reports"  # of a test report that an xdist worker sends
_COUNTS = "conformance_counts"  # in the output that an xdist worker sends when it ends
_UNWRITTEN = pytest.StashKey[list[str]]()  # what could not be written at the end, and why


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
        help="how much is tested: ci (fixed seed), dev, nightly, soak (default: ci where CI is set, else dev)",
    )
    group.addoption("--conformance-examples", type=int, metavar="N", help="calls for each test id, over the profile's")
    group.addoption("--conformance-seed", type=int, metavar="N", help="draw the calls from this seed")
    group.addoption(
        "--conformance-json", metavar="PATH", help="write the results as JSON (`conformance report` reads it)"
    )
    group.addoption(
        "--conformance-isolate",
        choices=policy.MODES,
        default="auto",
        help="judge calls in child processes, which a kernel may crash: always, once a fault has lost the device, or "
        "never (default: once a fault on a GPU, never on the CPU)",
    )
    group.addoption(
        "--conformance-hang-seconds",
        type=float,
        default=policy.Policy().hang_seconds,
        metavar="S",
        help="a call in a child process that takes longer hangs, and is ended",
    )
    group.addoption(
        "--no-conformance-fence",
        action="store_true",
        help="take device memory from torch, not from mappings that end at unmapped pages",
    )
    group.addoption(
        "--compute-sanitizer",
        action="append",
        choices=sanitizer.TOOLS,
        default=[],
        help="run the script of each finding under this tool of compute-sanitizer and add its first report; repeatable",
    )
    group.addoption(
        "--compute-sanitizer-tests",
        action="store_true",
        help="with --compute-sanitizer: run each test that passes once more, whole, under the tools; a report fails it",
    )
    group.addoption(
        "--stock-interpreter",
        action="store_true",
        help="run Triton's own interpreter, without batching, tracing and repairs",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose runtime and profile; both must stand before test modules import kernels."""
    path = config.getoption("--conformance-json")
    if path and (missing := missing_folder(path)):
        raise pytest.UsageError(f"--conformance-json {path}: {missing}")
    try:
        runtime.select(config.getoption("--conformance-runtime"), stock=config.getoption("--stock-interpreter"))
        profiles.select(
            config.getoption("--conformance-profile"),
            examples=config.getoption("--conformance-examples"),
            seed=config.getoption("--conformance-seed"),
        )
        tools = tuple(dict.fromkeys(config.getoption("--compute-sanitizer")))
        if tools:
            sanitizer.executable()
        elif config.getoption("--compute-sanitizer-tests"):
            raise pytest.UsageError("--compute-sanitizer-tests needs a tool, as in --compute-sanitizer memcheck")
        policy.select(
            policy.Policy(
                fence=not config.getoption("--no-conformance-fence"),
                isolate=config.getoption("--conformance-isolate"),
                hang_seconds=config.getoption("--conformance-hang-seconds"),
                sanitizer=tools,
            )
        )
    except (runtime.RuntimeUnavailable, sanitizer.SanitizerMissing, InvalidArgument) as error:
        raise pytest.UsageError(str(error)) from None
    profiles.current().seed  # noqa: B018 - fixes the seed before xdist starts workers, which inherit the environment
    config.addinivalue_line("markers", "gpu: needs a CUDA device")
    if config.pluginmanager.hasplugin("xdist") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Workers(), "conformance-workers")


class _Workers:
    """Brings the reports of xdist workers to the controller."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what an ended worker counted."""
        output = getattr(node, "workeroutput", {})
        if _COUNTS in output:
            watch.totals().add(watch.Counts.from_json(output[_COUNTS]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take over what a test of a worker found, which may not live to its end."""
        if hasattr(report, _REPORTS):
            collection.take(getattr(report, _REPORTS))
            _save(collection.fresh())


def _save(reports: Iterable[Report]) -> str:
    """Save the findings; a sentence that says what could not be, "" where all were."""
    return save_findings(finding for report in reports for finding in report.findings)[1]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run the test, and where that was asked for once more under compute-sanitizer."""
    result = yield
    if item.config.getoption("--compute-sanitizer-tests"):
        options = [
            f"--rootdir={item.config.rootpath}",
            "-n0",
            f"--conformance-runtime={runtime.current()}",
            f"--conformance-seed={profiles.current().seed}",
            f"--conformance-examples={profiles.current().examples}",
            "--conformance-isolate=never",  # the tool itself goes on after most errors
            "--no-conformance-fence",  # an allocation of its own for each tensor is what memcheck watches
        ]
        test = "::".join([str(item.path), *item.nodeid.split("::")[1:]])
        for tool in policy.current().sanitizer:
            report = sanitizer.over_test(test, tool, options)
            if report:
                pytest.fail("\n  ".join([f"compute-sanitizer {tool}:", *report]), pytrace=False)
    return result


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which runtime, versions, device, profile and seed are in use."""
    profile = profiles.current()
    return [
        header_line(runtime.versions()),
        f"conformance: profile {profile.name}, {profile.examples} examples an id, seed {profile.seed}",
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts on from a worker; write the results file and the findings elsewhere.

    What cannot be written is said in the summary; a results file that was asked for and is missing fails the session,
    and so do data that test nothing.
    """
    output = getattr(session.config, "workeroutput", None)  # only xdist workers have one
    if output is not None:
        output[_COUNTS] = watch.totals().to_json()
        return
    unwritten = session.config.stash.setdefault(_UNWRITTEN, [])
    path = session.config.getoption("--conformance-json")
    if path:
        try:
            collection.write(path)
        except OSError as error:
            unwritten.append(f"the results could not be written to {path}: {error}")
            session.exitstatus = session.exitstatus or pytest.ExitCode.USAGE_ERROR
    if any(mistrusted(collection.reports())):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
    unsaved = _save(collection.reports())
    if unsaved:
        unwritten.append(unsaved)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Show a finding as it is, without a traceback of ours, and in one line what was found in the short summary.

    What the test found is saved, or sent on from a worker, at once.
    """
    report = yield
    failure = None if call.excinfo is None else call.excinfo.value
    wanted = item.config.getoption("tbstyle") in ("auto", "long", "short")
    if call.excinfo is not None and wanted and isinstance(failure, (ConformanceFailure, Objections)):
        shown = call.excinfo.getrepr(style="value")
        if shown.reprcrash is not None:
            shown.reprcrash.message = failure.headline
        report.longrepr = shown
    found = collection.fresh()
    if found and hasattr(item.config, "workerinput"):
        setattr(report, _REPORTS, collection.to_text(found))
    else:
        _save(found)  # now: a session that is killed has no end
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the worst ratios, the counts of examples and the skips by reason."""
    unwritten = terminalreporter.config.stash.get(_UNWRITTEN, [])
    lines = [*summary_lines(collection.reports()), *watch.totals().lines(), *(f"warning: {each}" for each in unwritten)]
    if lines:
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.write_line(line)
