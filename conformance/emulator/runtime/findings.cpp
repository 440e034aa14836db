// Findings: merged over kind and source lines while the launch goes on; the Python side turns them into events.
#include "machine.h"

namespace {
// The finding that equals this one but for its count, or a new one; null when the report is full.
emu_finding *merge(u32 kind, u32 site, u32 other_site, u32 space) {
  for (u32 i = 0; i < report->findings; i++) {
    emu_finding &f = report->finding[i];
    if (f.kind == kind && f.site == site && f.other_site == other_site && f.space == space) {
      if (++f.count == 1u << 20) stopping = true;  // a million of one kind: nothing is learnt from more
      return nullptr;
    }
  }
  if (report->findings == EMU_MAX_FINDINGS) return nullptr;
  emu_finding &f = report->finding[report->findings++];
  memset(&f, 0, sizeof f);
  f.kind = kind;
  f.site = site;
  f.other_site = other_site;
  f.space = space;
  f.count = 1;
  f.block[0] = blockIdx.x, f.block[1] = blockIdx.y, f.block[2] = blockIdx.z;
  return &f;
}

void set_thread(u32 (&to)[3], u32 t) {
  const Dim &i = lanes[t].index;
  to[0] = i.x, to[1] = i.y, to[2] = i.z;
}

void record(u32 kind, u32 thread, u32 site, u32 other_site, const char *format, ...) {
  emu_finding *f = merge(kind, site, other_site, ~0u);
  if (!f) return;
  set_thread(f->thread, thread);
  va_list a;
  va_start(a, format);
  vsnprintf(f->text, sizeof f->text, format, a);
  va_end(a);
}
}  // namespace

extern "C" void emu_stop(const char *what) {
  record(EMU_ASSERT, current, EMU_SITE, 0, "%s", what);
  stopping = true;
  yield();
}
