from __future__ import annotations

import collections

from conformance.mutation.cuda import mutants

TEXT = """
template <int N> __device__ int f(int i) { return i < N ? i : 0; }
extern "C" __global__ void k(float* x, int n, int stride) {
    __shared__ float s[32]; // a comment with i < n
    if (threadIdx.x < n && n > 0) s[threadIdx.x] = x[blockIdx.x * stride + threadIdx.x];
    __syncthreads();
    if (n <= 32) __syncwarp();
    atomicAdd(&x[0], s[0]);
    printf("i < n");
}
"""


def test_each_mutant_is_one_edit() -> None:
    for mutant in mutants(TEXT):
        assert mutant.text != TEXT
        assert TEXT.replace(mutant.before, mutant.after, 1).count("\n") == mutant.text.count("\n")
        assert mutant.text.splitlines()[mutant.line - 1] != TEXT.splitlines()[mutant.line - 1]


def test_kinds_cover_barriers_atomics_bounds_strides_and_masks() -> None:
    counts = collections.Counter(m.kind for m in mutants(TEXT))
    assert counts["delete"] == 2
    assert counts["plain"] == 1
    assert counts["stride"] == 1
    assert counts["unmask"] == 2
    assert counts["drop"] == 2
    assert counts["widen"] >= 2
    assert counts["narrow"] >= 3


def test_comments_strings_and_template_heads_are_left_alone() -> None:
    assert not [m for m in mutants(TEXT) if m.line in (4, 9)]


def test_deleted_body_of_an_if_leaves_a_statement() -> None:
    deleted = [m for m in mutants(TEXT) if m.kind == "delete" and "syncwarp" in m.before]
    assert "if (n <= 32) ;" in deleted[0].text
