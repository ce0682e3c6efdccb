#pragma once
// Small Moshi and CSM models, and batches for them.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "s2s/batch.h"

// Shape letters: B batch, T frames, K codebooks.

namespace s2s::test {

constexpr int64_t kBooks = 3;

inline constexpr const char* kMoshi = R"({"name": "moshi", "vocab_size": 200, "hidden_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "ffn_dim": 48,
    "audio_vocab_size": 20, "num_codebooks": 3, "sliding_window": 6, "initializer_range": 0.2,
    "text_padding_weight": 0.5, "first_codebook_weight": 3,
    "depth_decoder": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
                      "ffn_dim": 24})";

inline constexpr const char* kCsm = R"({"name": "csm", "vocab_size": 20, "text_vocab_size": 200,
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_codebooks": 3, "initializer_range": 0.2,
    "audio_token_id": 198, "audio_eos_token_id": 199,
    "depth_decoder": {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1,
                      "num_attention_heads": 2, "num_key_value_heads": 1,
                      "initializer_range": 0.2})";

inline at::Generator generator_of(uint64_t seed) {
  return at::make_generator<at::CPUGeneratorImpl>(seed);
}

/// Codes of the agent and of the user, and the agent's text. Rows of these lengths.
inline Batch two_level_batch(const std::vector<int64_t>& lengths, uint64_t seed = 1) {
  const at::Generator random = generator_of(seed);
  const auto rows = static_cast<int64_t>(lengths.size());
  const int64_t width = *std::max_element(lengths.begin(), lengths.end());
  const auto draw = [&](int64_t high, at::IntArrayRef sizes) {
    return at::randint(0, high, sizes, random, at::kLong);
  };
  Batch batch;
  batch.codes_BKT = draw(20, {rows, kBooks, width});
  batch.code_lens_B = at::tensor(lengths, at::kLong);
  batch.others["user_codes"] = draw(20, {rows, kBooks, width});
  batch.target_tokens_BT = draw(200, {rows, width});
  batch.target_tokens_BT.masked_fill_(draw(2, {rows, width}).eq(0), 0);  // PAD
  batch.target_token_lens_B = batch.code_lens_B.clone();
  batch.target_texts.assign(lengths.size(), "two words");
  for (size_t b = 0; b < lengths.size(); ++b) batch.ids.push_back("row " + std::to_string(b));
  return batch;
}

}  // namespace s2s::test
