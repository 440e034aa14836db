from __future__ import annotations

import json

import pytest

from conformance.bench import devices


@pytest.fixture
def two_devices(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("conformance.runtime.versions", lambda: {"device": "stand-in"})
    monkeypatch.setattr("os.cpu_count", lambda: 32)


def carried_out(run, cache, *, examples, results=None):
    run.seconds, run.examples = 60.0 / run.devices, 20 * examples
    run.summary = "335 passed in 9s"
    return run


def test_the_page_tells_the_speed_up_over_one_device(two_devices, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "carry_out", carried_out)
    page = tmp_path / "page.md"
    assert devices.main(["--write", str(page)]) == 0
    assert "| 2 | 28 | compiles first | 30 | 400 |  | 335 passed in 9s |" in page.read_text()
    assert "| 1 | 28 | compiled before | 60 | 400 | 1.00 | 335 passed in 9s |" in page.read_text()
    assert "| 2 | 28 | compiled before | 30 | 400 | 2.00 | 335 passed in 9s |" in page.read_text()


def test_an_interrupt_keeps_the_runs_that_were_done(two_devices, tmp_path, monkeypatch):
    def interrupted(run, cache, **options):
        if run.devices == 2 and not run.compiles:
            raise KeyboardInterrupt
        return carried_out(run, cache, **options)

    monkeypatch.setattr(devices, "carry_out", interrupted)
    page = tmp_path / "page.md"
    assert devices.main(["--write", str(page)]) == 1
    assert "| 1 | 28 |" in page.read_text()
    assert "| 2 | 28 | compiled before |" not in page.read_text()


@pytest.mark.slow
def test_a_run_counts_the_examples_of_all_workers(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k test_vector_add_triton")
    results = tmp_path / "results.json"
    run = devices.carry_out(devices.Run(1, 2), tmp_path, examples=2, results=str(results))
    assert "passed" in run.summary
    assert run.examples == devices._examples(json.loads(results.read_text())) > 0


def test_without_a_device_nothing_is_compared(capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert devices.main([]) == 2
    assert "no CUDA device" in capsys.readouterr().err
