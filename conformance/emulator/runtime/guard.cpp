// What a kernel must not take with it: crashes and endless loops end the launch, and in isolation only a child process.
#include <csignal>
#include <ctime>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "machine.h"

namespace {
const int CAUGHT[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
const double WALL = 15;  // of watchdog.py: a loaded machine may give a process a tenth of its time
const double SECOND_LOOK = 0.05;  // after the deadline: what calls the runtime has stopped by itself until then

struct sigaction previous[5];
stack_t previous_stack;
alignas(64) char signal_stack[64 << 10];
timer_t watchdog;
bool overdue;

// What asks a process to end ends a launch too, which Python would wait for before it looks at the signal.
const int ASKED[] = {SIGINT, SIGTERM};
struct sigaction asked_before[2];
volatile sig_atomic_t interrupted, armed;

void arm(double seconds) {
  itimerspec t{};
  t.it_value.tv_sec = time_t(seconds);
  t.it_value.tv_nsec = long((seconds - double(t.it_value.tv_sec)) * 1e9);
  timer_settime(watchdog, 0, &t, nullptr);
}

uptr program_counter(void *context) {
#if defined(__x86_64__)
  return uptr(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]);
#else
  return uptr(((ucontext_t *)context)->uc_mcontext.pc);
#endif
}

bool in_module(uptr pc) { return pc >= module.low && pc < module.high; }

void on_crash(int signal, siginfo_t *, void *context) {
  const uptr pc = program_counter(context);
  if (!stack_low) {  // not in a kernel: whoever handled it before shall, when the instruction faults again
    for (int i = 0; i < 4; i++)
      if (CAUGHT[i] == signal) sigaction(signal, &previous[i], nullptr);
    return;
  }
  const char *what = signal == SIGFPE   ? "integer division by zero (a GPU gives an unspecified value)"
                     : signal == SIGILL ? "undefined behaviour that the compiler turned into a trap"
                                        : "access to memory that is not mapped, or too deep a stack";
  record(EMU_CRASH, current, in_module(pc) ? u32(pc - module.low) + 1 : 0, 0, "%s", what);
  stopping = true;
  yield();  // abandons the handler with the fiber: SA_NODEFER has left the signal mask alone
}

void on_deadline(int, siginfo_t *, void *context) {
  const uptr pc = program_counter(context);
  if (!stack_low) {
    stopping = true;
    return;
  }
  if (!overdue) {
    overdue = true;
    const u32 site = checking && last_site ? last_site : in_module(pc) ? u32(pc - module.low) + 1 : lanes[current].site;
    if (!interrupted) record(EMU_HANG, current, site, 0, "still runs after the time limit of a launch");
    stopping = true;
    arm(SECOND_LOOK);
  } else if (in_module(pc)) {
    yield();  // a loop that touches no memory
  } else {
    arm(SECOND_LOOK);  // in a library, which may hold a lock
  }
}

bool handled(const struct sigaction &action) { return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN; }

void on_interrupt(int signal, siginfo_t *info, void *context) {
  interrupted = true;
  if (armed) arm(1e-9);  // the thread of the launch, which need not be this one
  const struct sigaction &before = asked_before[signal == SIGTERM];
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(signal, info, context);
  else
    before.sa_handler(signal);
}

// Where somebody handles a signal that asks the process to end: for the time of a launch.
struct Interruptible {
  Interruptible() {
    interrupted = false;
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    action.sa_sigaction = on_interrupt;
    for (int i = 0; i < 2; i++) {
      sigaction(ASKED[i], nullptr, &asked_before[i]);
      if (handled(asked_before[i])) sigaction(ASKED[i], &action, nullptr);
    }
  }
  ~Interruptible() {
    for (int i = 0; i < 2; i++)
      if (handled(asked_before[i])) sigaction(ASKED[i], &asked_before[i], nullptr);
  }
};

struct Guarded {
  Guarded(double seconds) {
    overdue = false;
    stack_t own{};
    own.ss_sp = signal_stack;
    own.ss_size = sizeof signal_stack;
    sigaltstack(&own, &previous_stack);
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    action.sa_sigaction = on_crash;
    for (int i = 0; i < 4; i++) sigaction(CAUGHT[i], &action, &previous[i]);
    action.sa_sigaction = on_deadline;
    sigaction(SIGRTMIN + 3, &action, &previous[4]);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN + 3;
    event._sigev_un._tid = pid_t(syscall(SYS_gettid));
    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &watchdog);  // the time in which other processes run is no hang
    arm(seconds);
    armed = true;
    if (interrupted) arm(1e-9);
  }
  ~Guarded() {
    armed = false;
    timer_delete(watchdog);
    for (int i = 0; i < 4; i++) sigaction(CAUGHT[i], &previous[i], nullptr);
    sigaction(SIGRTMIN + 3, &previous[4], nullptr);
    sigaltstack(&previous_stack, nullptr);
  }
};

void run_guarded(const emu_launch *c) {
  Guarded guard(c->seconds);
  run_grid(c);
}

// Runs the grid in a child process, and takes its memory over when it ends well.
void run_isolated(const emu_launch *c) {
  u64 bytes = sizeof(emu_report);
  for (u32 i = 0; i < c->spaces; i++) bytes += c->space[i].bytes;
  u8 *shared = (u8 *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  fflush(stdout);
  const pid_t child = shared == MAP_FAILED ? -1 : fork();
  if (child < 0) {
    report->failed = ~0u;
    return;
  }
  if (!child) {
    run_guarded(c);
    fflush(stdout);
    report->stopped = stopping;
    report->interrupted = interrupted;
    memcpy(shared, report, sizeof *report);
    u8 *to = shared + sizeof *report;
    for (u32 i = 0; i < c->spaces; to += c->space[i++].bytes) memcpy(to, c->space[i].base, c->space[i].bytes);
    _exit(0);
  }
  int status = 0;
  timespec pause{0, 50000};
  double left = WALL * c->seconds + 2;
  while (waitpid(child, &status, WNOHANG) == 0) {
    nanosleep(&pause, nullptr);
    left -= double(pause.tv_nsec) * 1e-9;
    if (pause.tv_nsec < 2000000) pause.tv_nsec += pause.tv_nsec / 4;
    if (left > 0 && !interrupted) continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    break;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    memcpy(report, shared, sizeof *report);
    stopping = report->stopped;
    const u8 *from = shared + sizeof *report;
    for (u32 i = 0; i < c->spaces; from += c->space[i++].bytes) memcpy(c->space[i].base, from, c->space[i].bytes);
  } else {
    report->failed = WIFSIGNALED(status) ? u32(WTERMSIG(status)) : ~0u;
    stopping = true;
  }
  munmap(shared, bytes);
}
}  // namespace
