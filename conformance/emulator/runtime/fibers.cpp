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

// The lanes of one warp in the order in which they run, each up to where it waits. A lane hands on to the next one itself:
// a switch by way of the scheduler would take two, and the processor foretells none of their returns.
struct Turn {
  u32 lane[WARP], at, n, base;
  bool any;  // has run
};
Turn turn;

// Makes the next lane that can run the current one; false where the scheduler decides.
inline __attribute__((always_inline)) bool hand_on() {
  while (!stopping && turn.at < turn.n) {
    const u32 t = turn.base + turn.lane[turn.at++];
    Lane &lane = lanes[t];
    if (lane.state > State::ready) continue;
    turn.any = true;
    current = t;
    threadIdx = lane.index;
    my_clock = lane.clock[t & 31];
    report->switches++;
    return true;
  }
  return false;
}

// Gives the current lane its fiber, a free one for its first run, and the stack that this may write.
inline __attribute__((always_inline)) void *resume() {
  Lane &lane = lanes[current];
  if (lane.state == State::fresh) lane.fiber = free_fibers[--free_count];
  lane.state = State::ready;
  current_fiber = lane.fiber;
  stack_low = uptr(fibers[current_fiber].stack);
  return fibers[current_fiber].stack_pointer;
}

void yield() {
  void **save = &fibers[current_fiber].stack_pointer;
  emu_switch(save, hand_on() ? resume() : scheduler_stack);
}

void fiber_main() {
  for (;;) {
    kernel(kernel_args);
    if (doubtful.bytes) settle();
    lanes[current].state = State::done;
    live--;
    warp_running[current / WARP] &= ~(1u << (current & 31));
    complete_warp(current & ~(WARP - 1));  // a warp operation may have waited for this lane alone
    const bool more = hand_on();
    free_fibers[free_count++] = current_fiber;
    if (more && lanes[current].state == State::fresh) {
      resume();  // takes this very fiber, which starts again
      continue;
    }
    void **save = &fibers[current_fiber].stack_pointer;
    emu_switch(save, more ? resume() : scheduler_stack);
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

// One turn of the lanes of a warp; false where none could run.
bool run_turn() {
  turn.at = 0;
  turn.any = false;
  if (hand_on()) emu_switch(&scheduler_stack, resume());
  stack_low = 0;
  return turn.any;
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
