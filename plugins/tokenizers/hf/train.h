#pragma once
// Trains a small byte-level BPE tokenizer.json on texts.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hf_options.h"

namespace s2s::hf {

/// Learns merges from words, in order: each time the most frequent pair of adjacent symbols. Of
/// equally frequent pairs it takes the one whose left, then right symbol is older. The first
/// symbols are the bytes, in the order of their characters. Stops after `max_merges`, or when no
/// pair occurs `min_count` times. Source: the order of the tokenizers package's BpeTrainer.
std::vector<std::pair<std::string, std::string>> learn_merges(
    const std::unordered_map<std::string, int64_t>& word_counts, int64_t max_merges,
    int64_t min_count);

/// Trains on `texts` and writes a tokenizer.json to `path` atomically. It splits with Llama 3's
/// pattern, then into bytes, and has the added tokens <s>, </s> and <pad>.
/// Errors: [tokenizer/cannot-write].
void train_tokenizer(const std::vector<std::string>& texts, const TrainOptions& options,
                     const std::string& path);

}  // namespace s2s::hf
