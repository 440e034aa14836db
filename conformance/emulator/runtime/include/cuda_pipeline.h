// Asynchronous copies to shared memory: the bytes land at the wait and not before.
#pragma once
EMU_INLINE void __pipeline_memcpy_async(void *shared, const void *global, size_t bytes, size_t zeros = 0) {
  assert(bytes == 4 || bytes == 8 || bytes == 16);
  assert(zeros <= bytes);
  emu_copy_async(shared, global, (unsigned)bytes, (unsigned)zeros);
}
EMU_INLINE void __pipeline_commit() { emu_copy_commit(); }
EMU_INLINE void __pipeline_wait_prior(unsigned n) { emu_copy_wait(n); }
