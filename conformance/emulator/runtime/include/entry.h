// The entry point of a kernel: unpacks cuLaunchKernel's argument pointers, and describes the parameters.
#pragma once
// One word a parameter: `*` for a pointer, `c` for a pointer to const, then a letter for the element and its size.
template <class T> struct emu_kind { static constexpr char letter = 'x'; };  // a struct: no dtype of its own
template <> struct emu_kind<void> { static constexpr char letter = 'v'; };
#define EMU_KIND(T, l) template <> struct emu_kind<T> { static constexpr char letter = l; };
EMU_KIND(bool, '?') EMU_KIND(char, 'b') EMU_KIND(signed char, 'b') EMU_KIND(unsigned char, 'B')
EMU_KIND(short, 'h') EMU_KIND(unsigned short, 'H') EMU_KIND(int, 'i') EMU_KIND(unsigned, 'I')
EMU_KIND(long, 'q') EMU_KIND(unsigned long, 'Q') EMU_KIND(long long, 'q') EMU_KIND(unsigned long long, 'Q')
EMU_KIND(float, 'f') EMU_KIND(double, 'd')
EMU_KIND(float1, 'f') EMU_KIND(float2, 'f') EMU_KIND(float3, 'f') EMU_KIND(float4, 'f') EMU_KIND(double2, 'd')
template <class T> struct emu_parameter {
  static constexpr char pointer = ' ', constant = ' ', letter = emu_kind<T>::letter;
};
#define EMU_BY_VALUE(T) \
  template <> struct emu_parameter<T> { static constexpr char pointer = ' ', constant = ' ', letter = 'x'; };
EMU_BY_VALUE(float2) EMU_BY_VALUE(float3) EMU_BY_VALUE(float4) EMU_BY_VALUE(double2)
template <class T> struct emu_parameter<T *> {
  static constexpr char pointer = '*', constant = ' ', letter = emu_kind<T>::letter;
};
template <class T> struct emu_parameter<const T *> {
  static constexpr char pointer = '*', constant = 'c', letter = emu_kind<T>::letter;
};
template <class T> struct emu_parameter<volatile T *> : emu_parameter<T *> {};
template <class T> struct emu_parameter<const volatile T *> : emu_parameter<const T *> {};
template <class T> struct emu_parameter<T *const> : emu_parameter<T *> {};
template <class T> struct emu_parameter<T *__restrict> : emu_parameter<T *> {};

// By its bytes: the caller's buffer is not aligned as the type may be.
template <class T> EMU_UNCHECKED EMU_INLINE T emu_argument(const void *p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <int... I> struct emu_sequence {};
template <int N, int... I> struct emu_count : emu_count<N - 1, N - 1, I...> {};
template <int... I> struct emu_count<0, I...> {
  typedef emu_sequence<I...> type;
};
template <class... A> struct emu_entry {
  template <void (*K)(A...), int... I>
  EMU_UNCHECKED __attribute__((noinline)) static void unpack(void **a, emu_sequence<I...>) {
    K(emu_argument<A>(a[I])...);
  }
  template <void (*K)(A...)> EMU_UNCHECKED static void call(void **a) {
    unpack<K>(a, typename emu_count<sizeof...(A)>::type());
  }
  static const char *describe() {
    // three letters a parameter, then the sizes would not fit one letter: they are in `sizes`
    static const char text[] = {emu_parameter<A>::pointer..., emu_parameter<A>::constant..., emu_parameter<A>::letter..., 0};
    return text;
  }
  static const emu_u32 *sizes() {
    static const emu_u32 bytes[] = {(emu_u32)sizeof(A)..., 0};
    return bytes;
  }
};
template <class... A> emu_entry<A...> emu_entry_of(void (*)(A...));
#define EMU_VISIBLE extern "C" __attribute__((visibility("default")))
#define EMU_EXPORT(id, ...)                                                                                      \
  EMU_VISIBLE const char *emu_describe_##id() { return decltype(emu_entry_of(&__VA_ARGS__))::describe(); }       \
  EMU_VISIBLE const emu_u32 *emu_sizes_##id() { return decltype(emu_entry_of(&__VA_ARGS__))::sizes(); }          \
  EMU_VISIBLE void emu_entry_##id(void **a) {                                                                    \
    decltype(emu_entry_of(&__VA_ARGS__))::template call<&__VA_ARGS__>(a);                                        \
  }
