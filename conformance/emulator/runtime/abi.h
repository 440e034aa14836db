// What the CUDA dialect, the runtime and the Python side agree on. No standard header: kernels see this text, and NVRTC
// gives them none either.
#pragma once
typedef __UINT8_TYPE__ emu_u8;
typedef __UINT16_TYPE__ emu_u16;
typedef __UINT32_TYPE__ emu_u32;
typedef __UINT64_TYPE__ emu_u64;

enum emu_op {
  EMU_SHUFFLE, EMU_BALLOT, EMU_ANY, EMU_ALL, EMU_MATCH_ANY, EMU_MATCH_ALL, EMU_SYNC, EMU_ARRIVE,
  EMU_ADD, EMU_MIN, EMU_MAX, EMU_UMIN, EMU_UMAX, EMU_AND, EMU_OR, EMU_XOR, EMU_CALL,
};
enum emu_barrier_op { EMU_BARRIER_PLAIN = -1, EMU_BARRIER_COUNT, EMU_BARRIER_AND, EMU_BARRIER_OR };

// Kinds of finding; conformance/emulator/findings.py holds the same list in the same order.
enum emu_finding_kind {
  EMU_OUTSIDE_READ, EMU_OUTSIDE_WRITE, EMU_GAP_READ, EMU_GAP_WRITE, EMU_WILD, EMU_MISALIGNED, EMU_INPUT_WRITE,
  EMU_UNINITIALIZED, EMU_RACE, EMU_WRITE_CONFLICT, EMU_BARRIER, EMU_DEADLOCK, EMU_WARP, EMU_ASSERT, EMU_CRASH, EMU_HANG,
  EMU_INDEX, EMU_OVERFLOW,
};

// Bits of the state of one byte of memory.
enum emu_state { EMU_ELEMENT = 1, EMU_INIT = 2, EMU_WRITABLE = 4 };

enum emu_space_flags { EMU_SHARED = 1, EMU_TRACKED = 2, EMU_IGNORED = 4 };

// A stretch of memory that a kernel may touch: the span of a storage's tensors, or one shared array. `margin_low` and
// `margin_high` are the bytes before and after it that belong to the same allocation, where a wrong access does no harm.
struct emu_space {
  void *base;
  emu_u64 bytes, margin_low, margin_high;
  emu_u8 *state;
  emu_u32 grain, flags;
};

struct emu_finding {
  emu_u32 kind, site, other_site, space;
  long long offset;
  emu_u32 size, block[3], thread[3], other_block, other_thread[3], count, other_kind, now;
  char text[192];
};

enum { EMU_MAX_FINDINGS = 64, EMU_ROUNDS = 1 << 16, EMU_COMPARES = 1 << 17 };

struct emu_report {
  emu_u32 findings, stopped, float_atomics, failed, interrupted;
  emu_u64 reads, writes, shared_reads, shared_writes, switches;
  struct emu_finding finding[EMU_MAX_FINDINGS];
};

// What a tensor map holds here, in place of the 128 bytes of the driver's: a matrix of contiguous rows, and its boxes.
struct emu_tensor_map {
  emu_u64 address, rows, columns, pitch, element, box_rows, box_columns, rest[9];
};

enum emu_order { EMU_ROW, EMU_REVERSE, EMU_RANDOM };

// Where a kernel's library lies: `low` is what addresses of its symbols count from.
struct emu_module {
  emu_u64 low, high, readonly_high;
};

struct emu_launch {
  emu_u32 grid[3], block[3], dynamic_bytes, order;
  emu_u64 seed;
  emu_u32 checked, isolated, spaces;
  struct emu_space *space;
  struct emu_module module;
  const emu_u64 *subscripts;
  emu_u32 subscript_count;
  double seconds;
};

#pragma GCC visibility push(default)  // the runtime is a library of its own, which every kernel's library needs
#ifdef __cplusplus
extern "C" {
#endif
emu_u64 emu_warp(emu_u32 op, emu_u32 mask, emu_u64 value, int source, void (*call)(void **));
int emu_barrier(int op, int predicate, int identity);
// `bytes` with EMU_ROUNDS where the order of two such updates shows in the last bits, with EMU_COMPARES for atomicCAS.
void emu_atomic(const void *p, emu_u32 bytes);
void emu_fence(int device);  // 0: for the threads of the block alone
void emu_stop(const char *what);
void emu_copy_async(void *shared, const void *global, emu_u32 bytes, emu_u32 zero_fill);
void emu_copy_commit(void);
void emu_copy_wait(emu_u32 pending);
void *emu_copy_bytes(void *to, const void *from, emu_u64 bytes);
void *emu_set_bytes(void *to, int value, emu_u64 bytes);
void emu_mbarrier_init(void *barrier, emu_u32 arrivals);
void emu_mbarrier_fence(void);
void emu_mbarrier_arrive(void *barrier, emu_u32 bytes);
void emu_mbarrier_wait(void *barrier, emu_u32 parity);
void emu_bar_sync(emu_u32 id, emu_u32 threads);  // PTX's bar.sync and bar.arrive
void emu_bar_arrive(emu_u32 id, emu_u32 threads);
void emu_tensor_copy(void *shared, const void *map, void *barrier, long long row, long long column);
void emu_wgmma_fence(void);
void emu_wgmma(float *sums, emu_u32 columns, emu_u64 a, emu_u64 b, emu_u32 bfloat, emu_u32 add);
void emu_wgmma_commit(void);
void emu_wgmma_wait(emu_u32 pending);
void *emu_dynamic_shared(void);
void emu_dynamic_shared_size(emu_u32 *bytes);
emu_u32 emu_active_mask(void);
int emu_reserve(void);
void emu_find_module(const void *within, struct emu_module *);
void emu_run(void (*kernel)(void **), void **args, const struct emu_launch *, struct emu_report *);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
