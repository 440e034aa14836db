// Asynchronous copies (`cp.async`): the bytes land at the wait, so a missing wait reads poison and is reported.
#include "machine.h"

namespace {
struct Copy {
  u8 *to;
  const u8 *from;
  u32 bytes, zeros, group, site;
};
struct Queue {
  std::vector<Copy> copies;
  u32 group = 0;
};
Queue queues[MAX_THREADS];

void land(const Copy &c) {
  memcpy(c.to, c.from, c.bytes - c.zeros);
  memset(c.to + c.bytes - c.zeros, 0, c.zeros);
  if (checking) access<Access::write>(c.to, c.bytes, c.site, false);
}

void drop_copies() {
  for (u32 t = 0; t < threads; t++) {
    queues[t].copies.clear();
    queues[t].group = 0;
  }
}
}  // namespace

extern "C" {
void emu_copy_async(void *to, const void *from, u32 bytes, u32 zeros) {
  const u32 site = EMU_SITE;
  if (checking) {
    if (bytes > zeros) access<Access::read>(from, bytes - zeros, site, (bytes - zeros) == bytes);
    access<Access::write>(to, bytes, site, true);
    for (u32 i = 0; i < space_count; i++) {
      Space &s = spaces[i];
      if (!inside(s, uptr(to), bytes)) continue;
      for (u32 k = 0; k < bytes; k++) s.state[uptr(to) - s.low + k] &= u8(~EMU_INIT);
    }
  }
  memset(to, 0xff, bytes);
  Queue &q = queues[current];
  q.copies.push_back(Copy{(u8 *)to, (const u8 *)from, bytes, zeros, q.group, site});
}

void emu_copy_commit() { queues[current].group++; }

// Waits until at most `pending` of the committed groups are under way.
void emu_copy_wait(u32 pending) {
  Queue &q = queues[current];
  size_t kept = 0;
  for (const Copy &c : q.copies) {
    if (c.group < q.group && q.group - c.group > pending)
      land(c);
    else
      q.copies[kept++] = c;
  }
  q.copies.resize(kept);
}
}

extern "C" void *emu_copy_bytes(void *to, const void *from, u64 bytes) {
  if (checking && bytes) {
    access<Access::read>(from, u32(bytes), EMU_SITE, false);
    access<Access::write>(to, u32(bytes), EMU_SITE, false);
  }
  return memmove(to, from, bytes);
}

extern "C" void *emu_set_bytes(void *to, int value, u64 bytes) {
  if (checking && bytes) access<Access::write>(to, u32(bytes), EMU_SITE, false);
  return memset(to, value, bytes);
}
