#include "copy_attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "s2s/nn/transformer.h"

namespace s2s::duplex_s2s {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}  // namespace

HeardWords HeardWords::narrow(int64_t first, int64_t num_frames) const {
  if (!defined()) return {};
  return {words_BTH.narrow(1, first, num_frames), mass_BT.narrow(1, first, num_frames)};
}

CopyAttention::CopyAttention(int64_t hidden_size, int64_t key_size)
    : key_size_(key_size),
      query_(hidden_size, key_size, /*bias=*/false),
      key_(hidden_size, key_size, /*bias=*/false) {
  register_block("query", query_);
  register_block("key", key_);
  register_parameter("scale", scale_, {1}, {Init::Kind::kOnes, 0});
  register_parameter("recency", recency_, {1}, {Init::Kind::kZeros, 0});
}

CopyAttention::~CopyAttention() = default;

at::Tensor CopyAttention::add_words(const at::Tensor& hidden_BTH, const HeardWords& heard,
                                    SequenceState* state, const std::vector<int64_t>& rows) {
  const at::Tensor log_mass_BT1 = heard.mass_BT.clamp_min(1e-6).log().unsqueeze(-1);
  const at::Tensor keys =
      at::cat({key_(heard.words_BTH), log_mass_BT1.to(hidden_BTH.scalar_type())}, -1);
  if (state == nullptr) return attend(hidden_BTH, keys, heard.words_BTH);
  const std::vector<SeenKeys> seen =
      state->append(0, keys.unsqueeze(1), heard.words_BTH.unsqueeze(1), /*window=*/0, rows);
  state->advance(hidden_BTH.size(1), rows);
  return attend_seen(hidden_BTH, seen, [&](const at::Tensor& own_BTH, const SeenKeys& of) {
    return attend(own_BTH, of.k.squeeze(1), of.v.squeeze(1));
  });
}

at::Tensor CopyAttention::attend(const at::Tensor& hidden_BTH, const at::Tensor& keys,
                                 const at::Tensor& words) {
  const double root = std::sqrt(static_cast<double>(key_size_));
  at::Tensor scores_BTS =
      at::matmul(query_(hidden_BTH), keys.narrow(-1, 0, key_size_).transpose(1, 2)) / root +
      keys.narrow(-1, key_size_, 1).transpose(1, 2);
  const int64_t width = scores_BTS.size(1), seen = scores_BTS.size(2);
  // Integers, because bfloat16 is exact only up to 256.
  const at::Tensor frame_S = at::arange(seen, scores_BTS.options().dtype(at::kLong));
  const at::Tensor age_TS = frame_S.slice(0, seen - width).unsqueeze(1) - frame_S;
  scores_BTS = (scores_BTS - recency_ * age_TS).masked_fill(age_TS.lt(0), -kInfinity);
  // An empty position, because most frames repeat no word.
  const at::Tensor nothing = at::zeros({scores_BTS.size(0), width, 1}, scores_BTS.options());
  const at::Tensor weights =
      at::softmax(at::cat({nothing, scores_BTS}, -1).to(at::kFloat), -1).narrow(-1, 1, seen);
  return hidden_BTH + scale_ * at::matmul(weights.to(words.scalar_type()), words);
}

}  // namespace s2s::duplex_s2s
