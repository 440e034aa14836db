// The host's own would declare what arithmetic.h has.
#pragma once
namespace std {
using ::abs;
}
