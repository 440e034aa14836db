"""What a check found, shown: records, terminal text, HTML and scripts that reproduce a finding."""

from conformance.report.records import (
    CaseResult,
    Report,
    load_finding,
    read_results,
    results_document,
    save_finding,
    save_findings,
)
from conformance.report.text import render

__all__ = [
    "CaseResult",
    "Report",
    "load_finding",
    "read_results",
    "render",
    "results_document",
    "save_finding",
    "save_findings",
]
