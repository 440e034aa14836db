// Indices outside an array of known length: the callback that -fsanitize=bounds plants, its only one; libubsan is not
// linked. It alone sees arrays that the compiler knows to be a thread's own. Shared and global memory is checked where
// it is accessed; subscripts.py says which subscripts count.
#include "sanitizer.h"

namespace {
u64 hash_of(const SourceLocation &l) {  // FNV-1a, as in subscripts.py
  u64 h = 0xcbf29ce484222325ull;
  for (const char *c = l.file; *c; c++) h = (h ^ u8(*c)) * 0x100000001b3ull;
  return h ^ (u64(l.line) << 12 | l.column);
}

bool owned(const SourceLocation &l) {
  const u64 h = hash_of(l);
  u32 low = 0, high = subscript_count;
  while (low < high) {
    const u32 middle = (low + high) / 2;
    (subscripts[middle] < h ? low = middle + 1 : high = middle);
  }
  return low < subscript_count && subscripts[low] == h;
}
}  // namespace

extern "C" __attribute__((visibility("default"))) void __ubsan_handle_out_of_bounds(void *data, void *index) {
  const OutOfBoundsData &d = *(const OutOfBoundsData *)data;
  if (!checking || !stack_low || !owned(d.location)) return;
  record(EMU_INDEX, current, EMU_SITE, 0, "index %lld is outside an array of type %s", (long long)index, d.array->name);
  stopping = true;  // what lies behind the array is the stack
  yield();
}
