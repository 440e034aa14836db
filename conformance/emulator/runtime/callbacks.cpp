// The callbacks that -fsanitize=thread plants before every access. libtsan is not linked: these take its place.
#include "machine.h"

#pragma GCC visibility push(default)
extern "C" {
#define EMU_CALLBACKS(n)                                                                               \
  void __tsan_read##n(void *p) { access<Access::read>(p, n, EMU_SITE, true); }                         \
  void __tsan_write##n(void *p) { access<Access::write>(p, n, EMU_SITE, true); }                       \
  void __tsan_unaligned_read##n(void *p) { access<Access::read>(p, n, EMU_SITE, false); }              \
  void __tsan_unaligned_write##n(void *p) { access<Access::write>(p, n, EMU_SITE, false); }            \
  void __tsan_volatile_read##n(void *p) { access<Access::read>(p, n, EMU_SITE, true); }                \
  void __tsan_volatile_write##n(void *p) { access<Access::write>(p, n, EMU_SITE, true); }
EMU_CALLBACKS(1)
EMU_CALLBACKS(2)
EMU_CALLBACKS(4)
EMU_CALLBACKS(8)
EMU_CALLBACKS(16)
void __tsan_read_range(void *p, unsigned long n) { access<Access::read>(p, u32(n), EMU_SITE, false); }
void __tsan_write_range(void *p, unsigned long n) { access<Access::write>(p, u32(n), EMU_SITE, false); }
void *__tsan_memcpy(void *to, const void *from, unsigned long n) {
  access<Access::read>(from, u32(n), EMU_SITE, false);
  access<Access::write>(to, u32(n), EMU_SITE, false);
  return memcpy(to, from, n);
}
void *__tsan_memmove(void *to, const void *from, unsigned long n) {
  access<Access::read>(from, u32(n), EMU_SITE, false);
  access<Access::write>(to, u32(n), EMU_SITE, false);
  return memmove(to, from, n);
}
void *__tsan_memset(void *to, int value, unsigned long n) {
  access<Access::write>(to, u32(n), EMU_SITE, false);
  return memset(to, value, n);
}
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
}
#pragma GCC visibility pop
