"""CUDA kernels of a line or two, each with one planted fault for a check of the emulator, and the same text cured."""

from __future__ import annotations

import dataclasses
from typing import Any

from conformance.events import Kind

SIZE = 64
SIGNATURE = 'extern "C" __global__ void kernel(const float* x, float* out, int n)'


@dataclasses.dataclass(frozen=True)
class Planted:
    """`signature` and `body` with FAULT replaced by `fault` must give an event of `kind`, and by `cure` none.

    The kernel takes an input of `SIZE` floats, an output of as many with the role `out`, and `SIZE`.
    """

    kind: Kind
    body: str
    fault: str
    cure: str
    detail: str = ""
    block: Any = 64
    grid: Any = 1
    shared: int = 0
    out: str = "out"
    signature: str = SIGNATURE

    def source(self, text: str) -> str:
        """The kernel with a text (`fault` or `cure`) in its place."""
        return f"{self.signature} {{\n{self.body}\n}}".replace("FAULT", text)


FAULTS = {
    "a read past the end": Planted(
        Kind.OUT_OF_BOUNDS_READ,
        "out[threadIdx.x] = x[threadIdx.x FAULT];",
        "+ 1",
        "",
        "4 bytes past the end of arg0",
    ),
    "a read before the start": Planted(
        Kind.OUT_OF_BOUNDS_READ, "out[threadIdx.x] = x[(int)threadIdx.x FAULT];", "- 1", "", "before arg0"
    ),
    "a write past the end": Planted(
        Kind.OUT_OF_BOUNDS_WRITE,
        "for (int i = threadIdx.x; i FAULT n; i += blockDim.x) out[i] = 1;",
        "<=",
        "<",
    ),
    "a pointer from nowhere": Planted(
        Kind.WILD_POINTER, "float* p = FAULT; p[threadIdx.x] = 1;", "(float*)12345678912345600ll", "out"
    ),
    "a null pointer": Planted(
        Kind.WILD_POINTER, "float* p = FAULT; p[threadIdx.x] = 1;", "nullptr", "out", "through a null pointer"
    ),
    "an overrun of an array of the thread's own": Planted(
        Kind.ARRAY_INDEX,
        "float a[4]; for (int i = 0; i FAULT n / 16; i++) a[i] = x[i]; out[threadIdx.x] = a[threadIdx.x % 4];",
        "<=",
        "<",
        "index 4 is outside an array of type 'float [4]'",
    ),
    "an overrun of a row of a thread's own array": Planted(
        Kind.ARRAY_INDEX,
        "float a[2][4]; for (int r = 0; r < 2; r++) for (int i = 0; i FAULT n / 16; i++) a[r][i] = x[i];"
        "out[threadIdx.x] = a[1][threadIdx.x % 4];",
        "<=",
        "<",
        "index 4 is outside an array of type 'float [4]'",
    ),
    "an overrun in a template": Planted(
        Kind.ARRAY_INDEX,
        "out[threadIdx.x] = last<4>(x);",
        "<=",
        "<",
        "index 4 is outside an array of type 'float [4]'",
        signature="template <int N> __device__ float last(const float* x) { float a[2][N];"
        " for (int r = 0; r < 2; r++) for (int i = 0; i FAULT N; i++) a[r][i] = x[i]; return a[1][N - 1]; }\n"
        + SIGNATURE,
    ),
    "a plain read of what others add to": Planted(
        Kind.DATA_RACE,
        "__shared__ int s; if (threadIdx.x == 0) s = 0; __syncthreads(); int old = s, seen;"
        "do { seen = old; FAULT } while (old != seen); out[threadIdx.x] = 1;",
        "atomicAdd(&s, seen);",
        "old = atomicCAS(&s, seen, seen + 1);",
        "nothing orders the two",
    ),
    "an overrun of a static shared array into its neighbour": Planted(
        Kind.OUT_OF_BOUNDS_WRITE,
        "__shared__ float a[64], b[64]; b[threadIdx.x] = 0; a[threadIdx.x FAULT] = 1; __syncthreads();"
        "out[threadIdx.x] = b[63 - threadIdx.x];",
        "+ 1",
        "",
        "past the end of shared a",
    ),
    "a lock in shared memory without a fence": Planted(
        Kind.DATA_RACE,
        "__shared__ int lock; __shared__ volatile float sum;"
        "if (threadIdx.x == 0) { lock = 0; sum = 0; } __syncthreads();"
        "for (bool done = false; !done;) if (atomicCAS(&lock, 0, 1) == 0) {"
        "  __threadfence_block(); sum = sum + 1; FAULT atomicExch(&lock, 0); done = true; }"
        "__syncthreads(); out[threadIdx.x] = sum;",
        "",
        "__threadfence_block();",
        "nothing orders the two",
    ),
    "an overrun of dynamic shared memory": Planted(
        Kind.OUT_OF_BOUNDS_WRITE,
        "extern __shared__ float s[]; if (threadIdx.x < FAULT) s[threadIdx.x] = 0; out[threadIdx.x] = 0;",
        "64",
        "32",
        "dynamic shared memory",
        shared=128,
    ),
    "a write to an input": Planted(
        Kind.INPUT_WRITE, "FAULT[threadIdx.x] = 1; out[threadIdx.x] = 1;", "((float*)x)", "out", "an input"
    ),
    "an output that is read before it is written": Planted(
        Kind.UNINITIALIZED_READ, "out[threadIdx.x] FAULT x[threadIdx.x];", "+=", "=", "nothing has written"
    ),
    "an atomic on memory that nobody filled": Planted(
        Kind.UNINITIALIZED_READ,
        "FAULT atomicAdd(&out[threadIdx.x], x[threadIdx.x]);",
        "",
        "out[threadIdx.x] = 0;",
        "nothing has written",
    ),
    "shared memory that is read before it is written": Planted(
        Kind.UNINITIALIZED_READ,
        "__shared__ float s[64]; if (threadIdx.x FAULT 63) s[threadIdx.x] = x[threadIdx.x]; __syncthreads();"
        "out[threadIdx.x] = s[63 - threadIdx.x];",
        "<",
        "<=",
        "shared s",
    ),
    "a misaligned float4": Planted(
        Kind.MISALIGNED,
        "*(float4*)(out + 4 * (threadIdx.x % 15) FAULT) = make_float4(0, 0, 0, 0);",
        "+ 1",
        "",
        "16 bytes",
        block=15,
    ),
    "a misaligned half2": Planted(
        Kind.MISALIGNED,
        "half2* p = (half2*)((half*)out FAULT); p[threadIdx.x] = __floats2half2_rn(1, 2);",
        "+ 1",
        "",
        block=60,
        signature="#include <cuda_fp16.h>\n" + SIGNATURE,
    ),
    "a missing barrier": Planted(
        Kind.DATA_RACE,
        "__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; FAULT out[threadIdx.x] = s[63 - threadIdx.x];",
        "",
        "__syncthreads();",
        "nothing orders the two",
    ),
    "a missing second barrier of a tile loop": Planted(
        Kind.DATA_RACE,
        "__shared__ float s[64]; float a = 0; for (int k = 0; k < 3; k++) { s[threadIdx.x] = x[threadIdx.x] + k;"
        "__syncthreads(); a += s[63 - threadIdx.x]; FAULT } out[threadIdx.x] = a;",
        "",
        "__syncthreads();",
    ),
    "a missing __syncwarp": Planted(
        Kind.DATA_RACE,
        "__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncwarp();"
        "for (int d = 16; d; d >>= 1) { if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; FAULT }"
        "out[threadIdx.x] = s[0];",
        "",
        "__syncwarp();",
        block=32,
    ),
    "a __syncwarp that leaves lanes out": Planted(
        Kind.DATA_RACE,
        "__shared__ float s[32]; s[threadIdx.x] = x[threadIdx.x]; FAULT out[threadIdx.x] = s[31 - threadIdx.x];",
        "if (threadIdx.x < 16) __syncwarp(0xffffu); else __syncwarp(0xffff0000u);",
        "__syncwarp();",
        block=32,
    ),
    "a shuffle in place of a memory barrier": Planted(
        Kind.DATA_RACE,
        "__shared__ float s[32]; s[threadIdx.x] = x[threadIdx.x]; FAULT out[threadIdx.x] = s[31 - threadIdx.x];",
        "__shfl_sync(~0u, 1, 0);",
        "__syncwarp();",
        block=32,
    ),
    "two blocks that add without an atomic": Planted(
        Kind.DATA_RACE,
        "if (threadIdx.x == 0) { FAULT } ",
        "out[0] += x[0];",
        "atomicAdd(out, x[0]);",
        "block",
        grid=3,
        out="inout",
    ),
    "a plain read of what another thread updates atomically": Planted(
        Kind.DATA_RACE,
        "__shared__ int count; if (threadIdx.x == 0) count = 0; __syncthreads(); atomicAdd(&count, 1); FAULT"
        "out[threadIdx.x] = count;",
        "",
        "__syncthreads();",
        "atomically updates",
    ),
    "a last block that reads without a fence": Planted(
        Kind.DATA_RACE,
        "if (threadIdx.x) return; out[1 + blockIdx.x] = x[blockIdx.x]; FAULT"
        "if (atomicAdd((int*)out, 1) == gridDim.x - 1) for (int i = 1; i <= gridDim.x; i++) out[20 + i] = out[i];",
        "",
        "__threadfence();",
        "block",
        grid=4,
        out="inout",
    ),
    "a return before a barrier": Planted(
        Kind.BARRIER_DIVERGENCE,
        "FAULT; __syncthreads(); out[threadIdx.x] = 0;",
        "if (threadIdx.x >= 40) return",
        "",
        "24 of 64 threads have exited",
    ),
    "a barrier in both branches": Planted(
        Kind.BARRIER_DIVERGENCE,
        "if (threadIdx.x < 40) { FAULT } else { FAULT } out[threadIdx.x] = 0;",
        "__syncthreads();",
        "",
        "different barriers",
    ),
    "a barrier against a warp operation": Planted(
        Kind.DEADLOCK,
        "if (threadIdx.x < 16) FAULT; else __syncwarp(); out[threadIdx.x] = 0;",
        "__syncthreads()",
        "__syncwarp()",
        "wait at a warp operation",
        block=32,
    ),
    "a full-mask shuffle in half a warp": Planted(
        Kind.DEADLOCK,
        "float v = x[threadIdx.x]; if (threadIdx.x < 16) v += __shfl_xor_sync(FAULT, v, 1); __syncthreads();"
        "out[threadIdx.x] = v;",
        "~0u",
        "0xffffu",
        block=32,
    ),
    "a shuffle from a lane that has exited": Planted(
        Kind.WARP,
        "if (threadIdx.x >= 20) return; float v = x[threadIdx.x];"
        "for (int d = 16; d; d >>= 1) { float o = __shfl_down_sync(~0u, v, d); FAULT v += o; } out[threadIdx.x] = v;",
        "",
        "",
        "takes no part",
        block=32,
    ),
    "a lane outside its own mask": Planted(
        Kind.WARP,
        "float v = x[threadIdx.x]; v += __shfl_xor_sync(FAULT, v, 1); out[threadIdx.x] = v;",
        "0xffffu",
        "~0u",
        "not in its own mask",
        block=32,
    ),
    "an asynchronous copy that nobody waits for": Planted(
        Kind.UNINITIALIZED_READ,
        "__shared__ __align__(16) float s[64]; if (threadIdx.x < 16)"
        "__pipeline_memcpy_async(s + 4 * threadIdx.x, x + 4 * threadIdx.x, 16); __pipeline_commit(); FAULT"
        "__syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x];",
        "",
        "__pipeline_wait_prior(0);",
        signature="#include <cuda_pipeline.h>\n" + SIGNATURE,
    ),
    "an asynchronous copy whose wait comes without a barrier": Planted(
        Kind.DATA_RACE,
        "__shared__ __align__(16) float s[64]; __pipeline_memcpy_async(s + threadIdx.x, x + threadIdx.x, 4);"
        "__pipeline_commit(); __pipeline_wait_prior(0); FAULT out[threadIdx.x] = s[63 - threadIdx.x];",
        "",
        "__syncthreads();",
        signature="#include <cuda_pipeline.h>\n" + SIGNATURE,
    ),
    "a wait that lets the last group pass": Planted(
        Kind.UNINITIALIZED_READ,
        "__shared__ float s[64]; __pipeline_memcpy_async(s + threadIdx.x, x + threadIdx.x, 4); __pipeline_commit();"
        "__pipeline_wait_prior(FAULT); out[threadIdx.x] = s[threadIdx.x];",
        "1",
        "0",
        signature="#include <cuda_pipeline.h>\n" + SIGNATURE,
    ),
    "a failed assertion": Planted(Kind.DEVICE_ASSERT, "assert(n FAULT 64); out[threadIdx.x] = 0;", ">", "==", "n > 64"),
    "a trap": Planted(Kind.DEVICE_ASSERT, "FAULT out[threadIdx.x] = 0;", "__trap();", "", "__trap()"),
    "an integer division by zero": Planted(
        Kind.CRASH, "out[threadIdx.x] = 100 / (n FAULT);", "- 64", "+ 64", "division by zero"
    ),
    "an endless loop": Planted(
        Kind.HANG, "volatile float* p = out; p[threadIdx.x] = 0; while (p[threadIdx.x] FAULT 0) {}", "==", "!="
    ),
    "an endless loop that touches no memory": Planted(
        Kind.HANG, "out[threadIdx.x] = 0; while (n FAULT 64) {}", "==", "!="
    ),
    "too deep a recursion": Planted(
        Kind.CRASH,
        "out[threadIdx.x] = deep(n FAULT);",
        "* 100000",
        "",
        signature="__device__ int deep(int n) {\n"
        "volatile int a[64]; a[n % 64] = n; return n ? deep(n - 1) + a[n % 64] : 0; }\n" + SIGNATURE,
        block=1,
    ),
}
CURED = {name: fault for name, fault in FAULTS.items() if fault.fault != fault.cure}
