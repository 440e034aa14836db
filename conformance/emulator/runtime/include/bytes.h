// memcpy, memmove and memset of device code: the host's own would pass unchecked. Short copies of known length stay one
// access, as everywhere.
#pragma once
EMU_INLINE void *emu_memcpy(void *to, const void *from, size_t n) {
  if (__builtin_constant_p(n) && (n == 1 || n == 2 || n == 4 || n == 8 || n == 16)) return __builtin_memcpy(to, from, n);
  return emu_copy_bytes(to, from, n);
}
#define memcpy(to, from, n) emu_memcpy(to, from, n)
#define memmove(to, from, n) emu_copy_bytes(to, from, n)
#define memset(to, value, n) emu_set_bytes(to, value, n)
