// Which library an address lies in: a kernel's own literals may be read, and its lines are counted from its base.
#include <link.h>
#include "machine.h"

extern "C" void emu_find_module(const void *within, emu_module *found) {
  struct Search {
    uptr address;
    emu_module *found;
  } search{uptr(within), found};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) -> int {
        const Search &s = *(const Search *)data;
        uptr low = ~uptr(0), high = 0, readonly = 0;
        for (int k = 0; k < info->dlpi_phnum; k++) {
          const auto &h = info->dlpi_phdr[k];
          if (h.p_type != PT_LOAD) continue;
          const uptr a = info->dlpi_addr + h.p_vaddr, b = a + h.p_memsz;
          low = a < low ? a : low;
          high = b > high ? b : high;
          if (!(h.p_flags & PF_W) && b > readonly) readonly = b;
        }
        if (s.address < low || s.address >= high) return 0;
        *s.found = {info->dlpi_addr, high, readonly};
        return 1;
      },
      &search);
}
