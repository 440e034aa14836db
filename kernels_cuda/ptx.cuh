// A device function for each PTX instruction that CUDA C++ has no name for. On the CPU the emulator does what it does.
//
// Sources: PTX ISA 9.0, "mbarrier", "cp.async.bulk.tensor" and "Asynchronous warpgroup level matrix instructions".
#pragma once

#ifdef CONFORMANCE_EMULATOR
#define PTX(emulated, ...) emulated
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define PTX(emulated, ...) asm volatile(__VA_ARGS__)
#else
#define PTX(emulated, ...) __trap()  // wgmma is in sm_90a alone; a text with it still compiles for all others
#endif

// 2 ** v, and 0 where that is no normal number: one instruction, where exp2f takes care of the subnormal ones in four.
__device__ __forceinline__ float exp2_flushed(float v) {
#ifdef CONFORMANCE_EMULATOR
    const float power = exp2f(v);
    return power < 1.17549435e-38f ? 0 : power;
#else
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
    return power;
#endif
}

// Shared memory as PTX addresses it.
__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// An mbarrier: `arrivals` arrivals and the bytes that are expected end a phase. Phases are numbered from 0; one waits
// for the parity of a phase, and the phase before the first counts as ended.
struct Barrier {
    unsigned long long state;
};

__device__ __forceinline__ void barrier_init(Barrier *barrier, int arrivals) {
    PTX(emu_mbarrier_init(barrier, arrivals), "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(arrivals)
        : "memory");
}

// Shows the barriers that this thread initialized to the copy engine; the threads of the block need __syncthreads.
__device__ __forceinline__ void barrier_init_fence() {
    PTX(emu_mbarrier_fence(), "fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(Barrier *barrier) {
    PTX(emu_mbarrier_arrive(barrier, 0), "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
        : "memory");
}

// Arrives, and lets the phase end only when copies have brought `bytes` bytes more.
__device__ __forceinline__ void barrier_arrive_expect(Barrier *barrier, int bytes) {
    PTX(emu_mbarrier_arrive(barrier, bytes),
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
        : "memory");
}

__device__ __forceinline__ void barrier_wait(Barrier *barrier, unsigned parity) {
    PTX(emu_mbarrier_wait(barrier, parity),
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

// What the copy engine knows of a matrix: where it lies, its sizes and row pitch, and the box that one copy moves. Made
// by the launcher (cuTensorMapEncodeTiled), and passed as a __grid_constant__.
struct alignas(64) TensorMap {
    unsigned long long words[16];
};

// Starts the copy of the box whose first element is (row, column) to shared memory, zeros where the matrix ends; its
// bytes count at the barrier. A box is 128 bytes wide, and its rows lie one behind the other, 128-byte swizzled: the
// 16-byte unit u of the row at address A is at unit u ^ (A / 128 % 8), so that a column of units lies in all banks.
__device__ __forceinline__ void copy_box(
    void *to, const TensorMap &map, Barrier *barrier, int row, int column) {
    PTX(emu_tensor_copy(to, &map, barrier, row, column),
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(shared_address(barrier))
        : "memory");
}

// Orders what the thread did to registers before the wgmma that follow.
__device__ __forceinline__ void wgmma_fence() {
    PTX(emu_wgmma_fence(), "wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes a group of the wgmma that were started since the last one.
__device__ __forceinline__ void wgmma_commit() {
    PTX(emu_wgmma_commit(), "wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most PENDING groups are under way.
template <int PENDING> __device__ __forceinline__ void wgmma_wait() {
    PTX(emu_wgmma_wait(PENDING), "wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// The descriptor of an operand in boxes of 128-byte rows, swizzled: 8 rows are 1024 bytes, and where the operand is
// wider than a box, the next one lies `box` bytes further on.
__device__ __forceinline__ unsigned long long operand(const void *tile, int box) {
    const unsigned long long swizzle_128 = 1ull << 62, eight_rows = 1024 / 16, next = box / 16;
    return swizzle_128 | eight_rows << 32 | next << 16 | (shared_address(tile) & 0x3ffff) / 16;
}

#define SUM_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUM_16(i) SUM_4(i), SUM_4(i + 4), SUM_4(i + 8), SUM_4(i + 12)
#define SUM_64(i) SUM_16(i), SUM_16(i + 16), SUM_16(i + 32), SUM_16(i + 48)
#define WGMMA_256(bfloat, type) \
    PTX(emu_wgmma(d, 256, operand(a, 0), operand(b, box), bfloat, add), \
        "{\n" \
        ".reg .pred add;\n" \
        "setp.ne.b32 add, %130, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, " \
        "%128, %129, add, 1, 1, 0, 1;\n" \
        "}\n" \
        : SUM_64(0), SUM_64(64) \
        : "l"(operand(a, 0)), "l"(operand(b, box)), "r"((int)add))

// Starts d = a * b (+ d where `add`) by the 128 threads of a warpgroup: a is 64 x 16, rows of k; b is 16 x 256, rows of
// n in boxes that lie `box` bytes apart. Thread t holds, in d[4 * i + 2 * h + e], the element of row
// t / 32 * 16 + t % 32 / 4 + 8 * h and column 8 * i + t % 4 * 2 + e.
__device__ __forceinline__ void wgmma_256(float (&d)[128], const half *a, const half *b, int box, bool add) {
    WGMMA_256(0, "f16");
}
__device__ __forceinline__ void wgmma_256(
    float (&d)[128], const __nv_bfloat16 *a, const __nv_bfloat16 *b, int box, bool add) {
    WGMMA_256(1, "bf16");
}
#undef WGMMA_256
#undef SUM_64
#undef SUM_16
#undef SUM_4
