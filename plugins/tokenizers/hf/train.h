#pragma once
// Makes a small byte-level BPE tokenizer.json from texts.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "options.h"

namespace s2s::hf_plugin {

/// Merges of words, in the order they were found: the most frequent pair of neighbors each time,
/// of equals the one whose left, then right symbol is older. Bytes come first, in the order of
/// their characters. Stops after `max_merges`, or when no pair occurs `min_count` times. Source:
/// the order of the tokenizers package's BpeTrainer.
std::vector<std::pair<std::string, std::string>> learn_merges(
    const std::unordered_map<std::string, int64_t>& word_counts, int64_t max_merges,
    int64_t min_count);

/// Trains on `texts` and writes a tokenizer.json to `path`, whole or not at all: Llama 3's split
/// pattern, then bytes; added tokens <s>, </s> and <pad>.
/// Errors: [tokenizer/cannot-write].
void train_tokenizer(const std::vector<std::string>& texts, const TrainOptions& options,
                     const std::string& path);

}  // namespace s2s::hf_plugin
