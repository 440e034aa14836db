// wgmma: products of a warpgroup whose operands are read, and whose sums are there, at the wait and not before. Each of
// its four warps computes 16 of the 64 rows. Products are exact in float, sums go in ascending k, as in mma.h.
#include <vector>
#include "machine.h"
#include "include/halves.h"

namespace {
// What a descriptor says (PTX ISA, "matrix-descriptor format"): where the operand lies in shared memory, how far apart
// groups of eight rows are, and boxes of 64 columns.
struct Operand {
  uptr at;
  u32 rows, box;
};
struct Product {
  float *sums;
  u64 a, b;
  u32 columns, bfloat, add, group, site;
};
struct ProductQueue {
  std::vector<Product> products;
  u32 group = 0, pending = 0;
  bool fenced = false;
};
ProductQueue products[MAX_THREADS];
enum { WGMMA_ROWS = 16, WGMMA_DEPTH = 16, WGMMA_COLUMNS = 256 };

void drop_products() {
  for (u32 t = 0; t < threads; t++) {
    products[t].products.clear();
    products[t].group = 0;
    products[t].fenced = false;
  }
}

const uptr WINDOW = 1 << 18;  // bytes that a descriptor's 14 bits of 16-byte units tell apart
static_assert(sizeof dynamic_shared <= WINDOW, "a descriptor names one address");

Operand operand(u64 descriptor) {
  const auto field = [&](u32 from) { return u32(descriptor >> from & 0x3fff) * 16; };
  const uptr low = uptr(dynamic_shared);
  return {low + ((field(0) - low) & (WINDOW - 1)), field(32), field(16)};
}

float widened(u16 bits, u32 bfloat) { return bfloat ? emu_from_bfloat(bits) : emu_from_half(bits); }

// 16 bytes of an operand, as eight numbers; false where they are outside shared memory.
bool read_unit(uptr address, const Product &p, float *to) {
  const u8 *from = swizzled(address);
  if (uptr(from) - uptr(dynamic_shared) > sizeof dynamic_shared - 16) {
    record(EMU_WARP, current, p.site, 0, "the descriptor of a wgmma names what is no shared memory");
    stopping = true;
    return false;
  }
  if (checking) access<Access::read>(from, 16, p.site, true);
  u16 bits[8];
  memcpy(bits, from, 16);
  for (u32 i = 0; i < 8; i++) to[i] = widened(bits[i], p.bfloat);
  return true;
}

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
#endif
void add_products(float (*sums)[WGMMA_COLUMNS], const float (*a)[WGMMA_DEPTH], const float (*b)[WGMMA_COLUMNS]) {
  for (u32 r = 0; r < WGMMA_ROWS; r++)
    for (u32 k = 0; k < WGMMA_DEPTH; k++)
      for (u32 c = 0; c < WGMMA_COLUMNS; c++) sums[r][c] += a[r][k] * b[k][c];
}

void multiply(const Product *const *of_lane, u32 warp) {
  static float a[WGMMA_ROWS][WGMMA_DEPTH], b[WGMMA_DEPTH][WGMMA_COLUMNS], sums[WGMMA_ROWS][WGMMA_COLUMNS];
  const Product &p = *of_lane[0];
  const Operand left = operand(p.a), right = operand(p.b);
  for (u32 r = 0; r < WGMMA_ROWS; r++) {
    const u32 row = warp * WGMMA_ROWS + r;
    for (u32 k = 0; k < WGMMA_DEPTH; k += 8)
      if (!read_unit(left.at + row / 8 * left.rows + row % 8 * BOX_ROW + k * 2, p, &a[r][k])) return;
  }
  for (u32 k = 0; k < WGMMA_DEPTH; k++)
    for (u32 c = 0; c < p.columns; c += 8)
      if (!read_unit(right.at + c / 64 * right.box + k / 8 * right.rows + k % 8 * BOX_ROW + c % 64 * 2, p, &b[k][c]))
        return;
  const auto each = [&](auto &&f) {  // the layout of the accumulator: PTX ISA, wgmma, D fragment
    for (u32 l = 0; l < WARP; l++)
      for (u32 i = 0; i < p.columns / 2; i++)
        f(of_lane[l]->sums[i], sums[l / 4 + 8 * (i / 2 % 2)][i / 4 * 8 + l % 4 * 2 + i % 2]);
  };
  each([&](float &mine, float &sum) { sum = p.add ? mine : 0.0f; });
  add_products(sums, a, b);
  each([](float &mine, float &sum) { mine = sum; });
}

void complete_products(void **queues) {
  ProductQueue *of[WARP];
  for (u32 l = 0; l < WARP; l++) of[l] = (ProductQueue *)queues[l];
  const u32 base = current & ~(WARP - 1), n = u32(of[0]->products.size());
  size_t done = 0;
  for (; done < n; done++) {
    const Product &p = of[0]->products[done];
    if (p.group == of[0]->group || of[0]->group - p.group <= of[0]->pending) break;
    const Product *of_lane[WARP];
    for (u32 l = 0; l < WARP; l++) {
      of_lane[l] = &of[l]->products[done < of[l]->products.size() ? done : 0];
      const Product &q = *of_lane[l];
      if (of[l]->products.size() == n && q.a == p.a && q.b == p.b && q.add == p.add && q.columns == p.columns) continue;
      record(EMU_WARP, base + l, p.site, 0, "the lanes of a warp start different wgmma");
      stopping = true;
      return;
    }
    multiply(of_lane, base / WARP % 4);
    if (stopping) return;
  }
  for (ProductQueue *q : of) q->products.erase(q->products.begin(), q->products.begin() + long(done));
  if (checking) join_clocks(base, ~0u);  // what a lane does behind the wait, it does behind the reads of its warp
}
}  // namespace

extern "C" {
void emu_wgmma_fence() { products[current].fenced = true; }

// sums (64 x columns) = a (64 x 16) * b (16 x columns) (+ sums where `add`), of which a and b are the descriptors, of
// tiles as emu_tensor_copy leaves them.
void emu_wgmma(float *sums, u32 columns, u64 a, u64 b, u32 bfloat, u32 add) {
  ProductQueue &q = products[current];
  const char *wrong = !q.fenced ? "no wgmma.fence orders the registers of the sums before this wgmma"
                      : a >> 62 != 1 || b >> 62 != 1 ? "only operands with the 128-byte swizzle are modelled"
                                                     : nullptr;
  if (wrong) {
    record(EMU_WARP, current, EMU_SITE, 0, "%s", wrong);
    stopping = true;
    yield();
  }
  q.products.push_back(Product{sums, a, b, columns, bfloat, add, q.group, EMU_SITE});
}

void emu_wgmma_commit() { products[current].group++; }

void emu_wgmma_wait(u32 pending) {
  ProductQueue &q = products[current];
  q.pending = pending;
  q.fenced &= pending > 0;
  emu_warp(EMU_CALL, ~0u, (u64)&q, 0, &complete_products);
}
}
