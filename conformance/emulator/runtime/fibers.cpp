// Fibers: a hand-written switch, because ucontext makes two system calls a switch (354 ns against 31 ns a barrier).
#include <sys/mman.h>
#include "machine.h"

extern "C" void emu_switch(void **save, void *load) __attribute__((visibility("hidden")));
#if defined(__x86_64__)
asm(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\nemu_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size emu_switch,.-emu_switch\n");
enum { FRAME_BYTES = 64, RETURN_SLOT = 6 };
#elif defined(__aarch64__)
asm(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,%function\nemu_switch:\n"
    "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\n"
    "stp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\n"
    "stp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\nmov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
    "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
    "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\n"
    "ldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\nadd sp,sp,#160\nret\n");
enum { FRAME_BYTES = 160, RETURN_SLOT = 11 };
#else
#error "the emulator switches stacks on x86-64 and aarch64 only"
#endif

namespace {
struct Fiber {
  void *stack_pointer;
  char *stack;
};
Fiber fibers[MAX_THREADS];
int free_fibers[MAX_THREADS];
u32 free_count;
bool abandoned;  // fibers of the last launch are amid its kernel
int current_fiber = -1;
void *scheduler_stack;
void (*kernel)(void **);
void **kernel_args;

void yield() { emu_switch(&fibers[current_fiber].stack_pointer, scheduler_stack); }

void fiber_main() {
  for (;;) {
    kernel(kernel_args);
    if (doubtful.bytes) settle();
    lanes[current].state = State::done;
    live--;
    warp_running[current / WARP] &= ~(1u << (current & 31));
    free_fibers[free_count++] = current_fiber;
    complete_warp(current & ~(WARP - 1));  // a warp operation may have waited for this lane alone
    yield();
  }
}

void make_fiber(int i) {
  Fiber &f = fibers[i];
  f.stack = pool.stacks + size_t(i) * STACK_BYTES;
  // staggered: tops at one power-of-two distance would share one cache set
  char *top = f.stack + STACK_BYTES - 64 - (i & 127) * 320;
  void **frame = (void **)((uptr(top) & ~uptr(63)) - FRAME_BYTES);
  memset(frame, 0, FRAME_BYTES);
  frame[RETURN_SLOT] = (void *)fiber_main;
  f.stack_pointer = frame;
}

void make_fibers() {
  // those of a launch that ran to its end wait for their next kernel
  if (!abandoned && threads <= free_count) return;
  abandoned = false;
  // the lowest page of each stack faults: an overflow must not reach the neighbour
  for (; pool.guarded < threads; pool.guarded++)
    mprotect(pool.stacks + size_t(pool.guarded) * STACK_BYTES, 4096, PROT_NONE);
  free_count = 0;
  for (u32 i = threads; i-- > 0;) {
    make_fiber(int(i));
    free_fibers[free_count++] = int(i);
  }
}

void run_lane(u32 t) {
  Lane &lane = lanes[t];
  current = t;
  threadIdx = lane.index;
  my_clock = lane.clock[t & 31];
  if (lane.state == State::fresh) lane.fiber = free_fibers[--free_count];
  lane.state = State::ready;
  current_fiber = lane.fiber;
  stack_low = uptr(fibers[current_fiber].stack);
  report->switches++;
  emu_switch(&scheduler_stack, fibers[current_fiber].stack_pointer);
  stack_low = 0;
}
}  // namespace

// Whether there is address space for stacks and shadow cells.
extern "C" int emu_reserve() {
  auto reserve = [](u64 bytes) {
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : (char *)at;
  };
  pool.stacks = reserve(u64(MAX_THREADS) * STACK_BYTES);
  // 64 bytes of cell for each byte of memory in the worst case; address space is free, pages are not
  for (pool.cell_bytes = 1ull << 42; pool.cell_bytes >= 1ull << 28; pool.cell_bytes >>= 1)
    if ((pool.cells = reserve(pool.cell_bytes))) break;
  return pool.stacks && pool.cells;
}
