// What g++ passes to the callbacks of -fsanitize=bounds and -fsanitize=signed-integer-overflow; libubsan is not linked.
#pragma once
#include "machine.h"

namespace {
struct SourceLocation {
  const char *file;
  u32 line, column;
};
struct TypeDescriptor {
  u16 kind, info;  // of an integer: twice the logarithm of its bits, and 1 where it is signed
  char name[1];
};
struct OutOfBoundsData {
  SourceLocation location;
  const TypeDescriptor *array, *index;
};
struct OverflowData {
  SourceLocation location;
  const TypeDescriptor *type;
};
}  // namespace
