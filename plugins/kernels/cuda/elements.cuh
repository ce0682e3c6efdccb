// Elements of tensors as the kernels read and write them. Included by every kernel's file; a file
// that is compiled several times in one program includes it each time, in a name space of its own.
//
// Types are numbers: 0 float32, 1 bfloat16, 2 float16. No header is needed. Outside of a CUDA
// compiler, tests give the few CUDA names that occur, and count the bytes that are moved.

#ifdef __CUDA_ARCH__
#define S2S_UNROLL _Pragma("unroll")
#else
#define S2S_UNROLL
#endif
#ifndef S2S_MOVED
#define S2S_MOVED(bytes)
#endif
#ifndef S2S_ENTRY
#define S2S_ENTRY(threads) extern "C" __global__ void __launch_bounds__(threads)
#endif

template <int kType>
struct ElementOf {
  using Type = unsigned short;
};
template <>
struct ElementOf<0> {
  using Type = float;
};
template <int kType>
using Element = typename ElementOf<kType>::Type;

/// The float32 of an element's bits.
template <int kType>
__device__ inline float widened(unsigned bits) {
  if constexpr (kType == 0) {
    return __uint_as_float(bits);
  } else if constexpr (kType == 1) {
    return __uint_as_float(bits << 16);
  } else {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits)));
    return value;
#else
    return float16_value(bits);
#endif
  }
}

/// The bits of the nearest element.
template <int kType>
__device__ inline unsigned narrowed(float value) {
  if constexpr (kType == 0) {
    return __float_as_uint(value);
  } else if constexpr (kType == 1) {
#ifdef __CUDA_ARCH__
    unsigned both;  // the instruction for one value needs a newer device
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(0.0F), "f"(value));
    return both;
#else
    return bfloat16_bits(value);
#endif
  } else {
#ifdef __CUDA_ARCH__
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    return float16_bits(value);
#endif
  }
}

template <int kType>
__device__ inline float rounded(float value) {
  return widened<kType>(narrowed<kType>(value));
}

template <int kBytes>
constexpr int kPackAlignment = kBytes < 16 ? kBytes : 16;

/// Adjacent elements that one thread moves at once: an even number of them, in words.
template <int kType, int kCount>
struct alignas(kPackAlignment<kCount* static_cast<int>(sizeof(Element<kType>))>) Pack {
  unsigned words[kCount * sizeof(Element<kType>) / 4];
};
template <>
struct alignas(4) Pack<0, 1> {
  unsigned words[1];
};
template <>
struct alignas(2) Pack<1, 1> {
  unsigned short words[1];
};
template <>
struct alignas(2) Pack<2, 1> {
  unsigned short words[1];
};

template <int kType, int kCount>
__device__ inline float value_of(const Pack<kType, kCount>& pack, int i) {
  if constexpr (kType == 0 || kCount == 1) {
    return widened<kType>(pack.words[i]);
  } else {
    const unsigned word = pack.words[i / 2];
    return widened<kType>(i % 2 == 0 ? word & 0xFFFFU : word >> 16);
  }
}

template <int kType, int kCount>
__device__ inline Pack<kType, kCount> packed(const float (&values)[kCount]) {
  Pack<kType, kCount> pack;
  if constexpr (kType == 0) {
    S2S_UNROLL
    for (int i = 0; i < kCount; ++i) pack.words[i] = narrowed<0>(values[i]);
  } else if constexpr (kCount == 1) {
    pack.words[0] = static_cast<unsigned short>(narrowed<kType>(values[0]));
  } else {
    S2S_UNROLL
    for (int i = 0; i < kCount / 2; ++i) {
      pack.words[i] = narrowed<kType>(values[2 * i]) | narrowed<kType>(values[2 * i + 1]) << 16;
    }
  }
  return pack;
}

template <int kType, int kCount>
__device__ inline Pack<kType, kCount> load_pack(const Element<kType>* at) {
  S2S_MOVED(sizeof(Pack<kType, kCount>));
  return *reinterpret_cast<const Pack<kType, kCount>*>(at);
}

template <int kType, int kCount>
__device__ inline void store_pack(Element<kType>* at, const float (&values)[kCount]) {
  S2S_MOVED(sizeof(Pack<kType, kCount>));
  *reinterpret_cast<Pack<kType, kCount>*>(at) = packed<kType, kCount>(values);
}

/// As load_pack, of what all rows share, which stays in a cache.
template <int kType, int kCount>
__device__ inline Pack<kType, kCount> load_shared(const Element<kType>* at) {
  return *reinterpret_cast<const Pack<kType, kCount>*>(at);
}
