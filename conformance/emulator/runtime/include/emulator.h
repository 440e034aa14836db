// CUDA C++ for the host compiler, as NVRTC offers it; included before the kernel's text.
#pragma once
#include "../abi.h"
#include "qualifiers.h"
#include "vectors.h"
#include "warp.h"
#include "atomics.h"
#include "arithmetic.h"
#include "entry.h"
// g++ refuses `__shared__ alignas(16) float s[32]` behind `static`, which CUDA allows: the attribute may stand anywhere.
#define alignas(n) __attribute__((aligned(n)))
