// Copies that a group makes together; they land when it waits.
#pragma once
#include "../cooperative_groups.h"
#include "../cuda_pipeline.h"
namespace cooperative_groups {
template <class Group> EMU_INLINE void memcpy_async(const Group &g, void *to, const void *from, size_t bytes) {
  for (size_t i = g.thread_rank() * 4; i < bytes; i += g.size() * 4)
    emu_copy_async((char *)to + i, (const char *)from + i, bytes - i < 4 ? (unsigned)(bytes - i) : 4, 0);
  emu_copy_commit();
}
template <class Group, class T>
EMU_INLINE void memcpy_async(const Group &g, T *to, size_t, const T *from, size_t count) {
  memcpy_async(g, to, from, count * sizeof(T));
}
template <class Group> EMU_INLINE void wait(const Group &g, int line = __builtin_LINE()) {
  emu_copy_wait(0);
  emu_sync_at(g, line);
}
template <unsigned Stages, class Group> EMU_INLINE void wait_prior(const Group &g, int line = __builtin_LINE()) {
  emu_copy_wait(Stages);
  emu_sync_at(g, line);
}
}  // namespace cooperative_groups
