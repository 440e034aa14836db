// CUDA C++ for the host compiler, as NVRTC offers it; included before the kernel's text.
#pragma once
#include "../abi.h"
#include "qualifiers.h"
#include "vectors.h"
#include "warp.h"
#include "atomics.h"
#include "arithmetic.h"
#include "bytes.h"
#include "entry.h"
#ifdef EMU_FURTHER  // what few kernels call: parsing it would take as long as a small kernel
#include "rounding.h"
#include "special.h"
#include "simd.h"
#endif
// g++ refuses `__shared__ alignas(16) float s[32]` behind `static`, which CUDA allows: the attribute may stand anywhere.
#define alignas(n) __attribute__((aligned(n)))
