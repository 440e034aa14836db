// Part of what the emulator includes before every text; nvcc brings <math.h> and <stdint.h> in with it.
#pragma once
#include <math.h>
#include <stdint.h>
