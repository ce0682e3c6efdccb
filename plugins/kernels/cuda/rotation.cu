// Rotary position embedding of queries and keys in one pass, in split halves. With values, which
// are copied, it packs three gradients into one tensor.
//
// Compiled at run time for one model's heads. A block has one position of one sequence.
//
//   S2S_DIM        elements of a head
//   S2S_TYPE       0 float32, 1 bfloat16, 2 float16; angles and products are float32
//   S2S_THREADS    threads of a block
//   S2S_LOAD       elements of one access to memory: 16 bytes of them, or 1
//   S2S_Q_HEADS, S2S_K_HEADS, S2S_V_HEADS    heads of a position; S2S_V_HEADS may be 0

#include "elements.cuh"

/// Where heads are read and written; elements of a head are adjacent. Strides are in elements.
struct Heads {
  const Element<S2S_TYPE>* from;
  Element<S2S_TYPE>* to;
  long long from_batch, from_frame, from_head;
  long long to_frame, to_head;  // sequences are written one after the other
};

constexpr int kHalf = S2S_DIM / 2;
constexpr int kPacks = kHalf / S2S_LOAD;  // of half a head
constexpr int kRotated = S2S_Q_HEADS + S2S_K_HEADS;
constexpr int kItems = (kRotated + S2S_V_HEADS) * kPacks;

/// The value for the kind of head: queries, keys, values.
template <class Value>
__device__ inline Value chosen(int head, Value q, Value k, Value v) {
  return head < S2S_Q_HEADS ? q : head < kRotated ? k : v;
}

/// cos and sin [frames, S2S_DIM] float32, of which the first half of a row is read. sign -1 rotates
/// back. `from` may be `to`: a thread reads what it writes, and nobody else does.
S2S_ENTRY(S2S_THREADS)
s2s_rotate(Heads q, Heads k, Heads v, const float* cos, const float* sin, unsigned frames,
           float sign) {
  const unsigned row = blockIdx.x;
  const long long frame = row % frames;
  const long long sequence = row / frames;
  for (int item = static_cast<int>(threadIdx.x); item < kItems; item += S2S_THREADS) {
    const int head = item / kPacks;
    const int column = item % kPacks * S2S_LOAD;
    const int own = head - chosen(head, 0, S2S_Q_HEADS, kRotated);
    const Element<S2S_TYPE>* const from =
        chosen(head, q.from, k.from, v.from) +
        sequence * chosen(head, q.from_batch, k.from_batch, v.from_batch) +
        frame * chosen(head, q.from_frame, k.from_frame, v.from_frame) +
        own * chosen(head, q.from_head, k.from_head, v.from_head) + column;
    Element<S2S_TYPE>* const to =
        chosen(head, q.to, k.to, v.to) +
        (sequence * frames + frame) * chosen(head, q.to_frame, k.to_frame, v.to_frame) +
        own * chosen(head, q.to_head, k.to_head, v.to_head) + column;
    const auto first = load_pack<S2S_TYPE, S2S_LOAD>(from);
    const auto second = load_pack<S2S_TYPE, S2S_LOAD>(from + kHalf);
    float low[S2S_LOAD];
    float high[S2S_LOAD];
    S2S_UNROLL
    for (int i = 0; i < S2S_LOAD; ++i) {
      low[i] = value_of<S2S_TYPE, S2S_LOAD>(first, i);
      high[i] = value_of<S2S_TYPE, S2S_LOAD>(second, i);
    }
    if (head < kRotated) {
      const auto c = load_shared<0, S2S_LOAD>(cos + frame * S2S_DIM + column);
      const auto s = load_shared<0, S2S_LOAD>(sin + frame * S2S_DIM + column);
      S2S_UNROLL
      for (int i = 0; i < S2S_LOAD; ++i) {
        const float cosine = value_of<0, S2S_LOAD>(c, i);
        const float sine = value_of<0, S2S_LOAD>(s, i) * sign;
        const float a = low[i];
        const float b = high[i];
        low[i] = a * cosine - b * sine;
        high[i] = b * cosine + a * sine;
      }
    }
    store_pack<S2S_TYPE, S2S_LOAD>(to, low);
    store_pack<S2S_TYPE, S2S_LOAD>(to + kHalf, high);
  }
}
