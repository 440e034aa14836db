from __future__ import annotations

import pathlib

import pytest

from conformance.emulator.source import included, kernels, rewritten, unrolled


def test_parameters_are_named_through_qualifiers_arrays_and_comments() -> None:
    text = """
    // extern "C" __global__ void no(int a) {}
    extern "C" __global__ void __launch_bounds__(256, 2) yes(
        const float* __restrict__ x, /* the rest */ int n[4], void (*f)(int), Pair<int, float> p) {}
    extern "C" { __global__ void inner() {} }
    __global__ void hidden(int a) {}
    """
    found = {k.name: (k.parameters, k.callable_by_name) for k in kernels(text)}
    assert found["yes"][0][:2] == ("x", "n")
    assert found["yes"][0][3] == "p"
    assert found["inner"] == ((), True)
    assert found["hidden"] == (("a",), False)
    assert "no" not in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("extern __shared__ float s[];", "EMU_DYNAMIC_SHARED(float, s, );"),
        ("extern __shared__ __align__(16) unsigned char s[];", "EMU_DYNAMIC_SHARED(unsigned char, s, );"),
        ("extern __shared__ float s[][33];", "EMU_DYNAMIC_SHARED(float, s, [33]);"),
        ("__shared__ float a[2], b[3][4];", "__shared__ float a[2]; __shared__ float b[3][4];"),
        ("__shared__ __align__(16) T a[N];", "__shared__ __align__(16) T a[N];"),
    ],
)
def test_shared_memory_is_declared_as_the_host_takes_it(text: str, expected: str) -> None:
    assert rewritten(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('extern "C" __global__ void f() {}', 'extern "C" __global__ inline void f() {}'),
        ("int a; static inline __global__ void f() {}", "int a; static inline __global__ void f() {}"),
        ("__global__ __forceinline__ void f();", "__global__ __forceinline__ void f();"),
        ("template __global__ void f<float>(float);", "template __global__ void f<float>(float);"),
        ("// __global__\n__global__ void f() {}", "// __global__\n__global__ inline void f() {}"),
        (
            "inline int g() { return 1; } __global__ void f() {}",
            "inline int g() { return 1; } __global__ inline void f() {}",
        ),
    ],
)
def test_kernel_that_is_not_asked_for_is_not_compiled(text: str, expected: str) -> None:
    assert rewritten(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#pragma unroll\nfor (;;) {}", "#pragma GCC unroll 8\nfor (;;) {}"),
        ("  # pragma unroll (4) // a\n // b\n do {} while (0);", "  # pragma GCC unroll 4\n // b\n do {} while (0);"),
        ("#pragma unroll 1\nwhile (a) {}", "#pragma GCC unroll 1\nwhile (a) {}"),
        ("#pragma unroll N\nfor (;;) {}", "#pragma GCC unroll 8\nfor (;;) {}"),
        ("#pragma unroll 64\nfor (;;) {}", "#pragma GCC unroll 8\nfor (;;) {}"),
        ("#pragma unroll\nif (a) for (;;) {}", "#pragma unroll\nif (a) for (;;) {}"),
        ("#pragma unroll\nEACH(i) {}", "#pragma unroll\nEACH(i) {}"),
    ],
)
def test_loops_before_which_the_author_says_so_are_unrolled(text: str, expected: str) -> None:
    assert unrolled(text) == expected


def test_included_files_count_for_the_cache(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.cuh").write_text('#include "b.cuh"\n')
    (tmp_path / "b.cuh").write_text("int b;\n")
    assert included('#include "a.cuh"\n#include <cuda_fp16.h>\n', (str(tmp_path),)) == (
        '#include "b.cuh"\n',
        "int b;\n",
    )
