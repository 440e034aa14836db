"""Launching: what a backend is given, and what is refused before it."""

import numpy as np
import pytest
import torch

from kernels_cuda import launcher

SOURCE = '#include "shared.cuh"\nextern "C" __global__ void fill(float *out, float value, long long count) {}\n'


class Recorder:
    """A backend that keeps what it is given."""

    def __init__(self):
        self.compiled, self.launched = [], []

    def compile(self, source, *, options):
        self.compiled.append((source, options))
        return len(self.compiled)

    def launch(self, handle, name, grid, block, args, shared, signature):
        self.launched.append((handle, name, grid, block, args, shared, signature))


@pytest.fixture
def recorder():
    backend = Recorder()
    before = launcher.set_backend(backend)
    yield backend
    launcher.set_backend(before)


@pytest.fixture
def module(tmp_path):
    (tmp_path / "shared.cuh").write_text("#pragma once\nconstexpr int SHARED = 1;\n")
    path = tmp_path / "fill.cu"
    path.write_text(SOURCE)
    return launcher.load(path)


def test_a_backend_gets_three_sizes_and_exact_types(recorder, module):
    out = torch.zeros(3)
    module.launch("fill", 2, (32, 4), (out, 1.5, 3), shared=64)
    ((handle, name, grid, block, args, shared, signature),) = recorder.launched
    assert (handle, name, grid, block, shared) == (1, "fill", (2, 1, 1), (32, 4, 1), 64)
    assert args[0] is out
    assert [type(value) for value in args[1:]] == [np.float32, np.int64]
    assert [parameter.name for parameter in signature] == ["out", "value", "count"]


def test_a_module_is_compiled_once_a_backend(recorder, module):
    for _ in range(2):
        module.launch("fill", 1, 32, (torch.zeros(1), 0.0, 1))
    assert len(recorder.compiled) == 1
    assert recorder.compiled[0][1] == ("-std=c++17",)


def test_the_compiled_text_needs_no_other_file_and_keeps_its_line_numbers(module):
    assert '#include "' not in module.source
    assert "constexpr int SHARED = 1;" in module.source
    after = module.source.partition('#line 2 "fill.cu"\n')[2]
    assert after.startswith('extern "C" __global__ void fill')


def test_loading_again_gives_the_same_module_until_the_file_changes(module):
    assert launcher.load(module.path) is module
    module.path.write_text(SOURCE + "\n")
    assert launcher.load(module.path) is not module


@pytest.mark.parametrize(("grid", "block"), [(0, 32), ((1, 65536), 32), (1, 2048), (1, (32, 64)), ((1, 1, 1, 1), 32)])
def test_a_grid_or_block_beyond_the_limits_is_refused(recorder, module, grid, block):
    with pytest.raises(ValueError, match="fill"):
        module.launch("fill", grid, block, (torch.zeros(1), 0.0, 1))
    assert not recorder.launched


def test_an_unknown_kernel_is_refused_with_the_names_of_those_there_are(recorder, module):
    with pytest.raises(KeyError, match="it has fill"):
        module.launch("full", 1, 32, ())


def test_a_wrong_number_of_arguments_is_refused_with_the_names_of_the_parameters(recorder, module):
    with pytest.raises(TypeError, match="out, value, count"):
        module.launch("fill", 1, 32, (torch.zeros(1),))


def test_tensors_on_several_devices_are_refused(recorder, tmp_path):
    path = tmp_path / "copy.cu"
    path.write_text('extern "C" __global__ void copy(const float *x, float *out) {}\n')
    with pytest.raises(ValueError, match="cpu, meta"):
        launcher.load(path).launch("copy", 1, 32, (torch.zeros(1), torch.zeros(1, device="meta")))


def test_without_a_device_or_a_backend_the_error_says_what_to_do(module, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    before = launcher.set_backend(None)
    try:
        with pytest.raises(RuntimeError, match="set_backend"):
            module.launch("fill", 1, 32, (torch.zeros(1), 0.0, 1))
    finally:
        launcher.set_backend(before)


def test_a_source_without_kernels_is_refused(tmp_path):
    path = tmp_path / "empty.cu"
    path.write_text("__device__ int one() { return 1; }\n")
    with pytest.raises(ValueError, match="no kernel"):
        launcher.load(path)


def test_setting_a_backend_gives_back_the_one_before():
    first, second = Recorder(), Recorder()
    before = launcher.set_backend(first)
    try:
        assert launcher.set_backend(second) is first
        assert launcher.current_backend() is second
    finally:
        launcher.set_backend(before)
