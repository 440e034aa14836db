// The runtime as one translation unit, so that the checks are inlined into the callbacks.
#include <cstddef>
#include "machine.h"
// order matters: each file uses the ones above it
#include "fibers.cpp"
#include "findings.cpp"
#include "collectives.cpp"
#include "overflow.cpp"
#include "checker.cpp"
#include "fences.cpp"
#include "copies.cpp"
#include "mbarriers.cpp"
#include "wgmma.cpp"
#include "callbacks.cpp"
#include "subscripts.cpp"
#include "scheduler.cpp"
#include "guard.cpp"
#include "modules.cpp"
#include "launch.cpp"
