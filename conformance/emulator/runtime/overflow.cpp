// Signed 32-bit arithmetic that wraps round, where an access shows it. Hashes wrap on purpose, so a wrapped number by
// itself says nothing: what counts is an access of the same thread near the element that the number names. Kernels are
// compiled with -fsanitize=signed-integer-overflow where a tensor is long enough for such an offset.
#include "sanitizer.h"

namespace {
enum : u32 {
  WRAPS = 4,     // of a thread: the indices of one expression
  REACH = 4096,  // elements beside the one that is named: a row begins at a wrapped offset, and its columns follow
};
const u16 INT32 = 5 << 1 | 1;
const u64 INT32_LARGEST = 0x7fffffff;

struct Wrap {
  long long exact;
  const char *operation;
  u32 site;
};
Wrap wraps[MAX_THREADS][WRAPS];
u32 wrapped[MAX_THREADS];  // how often each thread's arithmetic has wrapped
bool any_wrapped;          // in this block

void begin_overflow() {
  if (any_wrapped) memset(wrapped, 0, sizeof wrapped);
  any_wrapped = false;
}

void wrap(const void *data, const char *operation, long long exact, u32 site) {
  if (!checking || !stack_low || ((const OverflowData *)data)->type->info != INT32) return;
  wraps[current][wrapped[current]++ % WRAPS] = Wrap{exact, operation, site};
  any_wrapped = true;
}

// Looks whether an access of `n` bytes in or beside a space is at an element that wrapped arithmetic of its thread names.
__attribute__((noinline)) void reach(const Space &s, uptr a, u32 n, u32 site) {
  if (s.high - s.low <= INT32_LARGEST) return;  // no element of a short tensor is what the exact number names
  const long long offset = (long long)(a - s.low);
  for (u32 i = 0; i < wrapped[current] && i < WRAPS; i++) {
    const Wrap &w = wraps[current][i];
    for (u32 shift = 0; shift < 5; shift++) {  // elements of 1 to 16 bytes
      const long long beside = (offset >> shift) - int(w.exact);
      if (beside <= -(long long)REACH || beside >= (long long)REACH) continue;
      if (emu_finding *f = merge(EMU_OVERFLOW, w.site, site, u32(&s - spaces))) {
        f->offset = offset;
        f->size = n;
        set_thread(f->thread, current);
        snprintf(f->text, sizeof f->text, "int32 %s overflows: %lld becomes %d", w.operation, w.exact, int(w.exact));
      }
      break;
    }
  }
}
}  // namespace

#pragma GCC visibility push(default)
extern "C" {
void __ubsan_handle_add_overflow(void *data, void *a, void *b) {
  wrap(data, "addition", (long long)int(uptr(a)) + int(uptr(b)), EMU_SITE);
}
void __ubsan_handle_sub_overflow(void *data, void *a, void *b) {
  wrap(data, "subtraction", (long long)int(uptr(a)) - int(uptr(b)), EMU_SITE);
}
void __ubsan_handle_mul_overflow(void *data, void *a, void *b) {
  wrap(data, "multiplication", (long long)int(uptr(a)) * int(uptr(b)), EMU_SITE);
}
void __ubsan_handle_negate_overflow(void *data, void *a) {
  wrap(data, "negation", -(long long)int(uptr(a)), EMU_SITE);
}
void __ubsan_handle_divrem_overflow(void *, void *, void *) {}  // traps by itself
}
#pragma GCC visibility pop
