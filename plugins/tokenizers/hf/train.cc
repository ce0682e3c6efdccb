#include "train.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <queue>

#include "byte_alphabet.h"
#include "pattern.h"
#include "s2s/data/training_texts.h"
#include "unicode.h"

namespace s2s::hf {
namespace {

// As in Llama 3's tokenizer.json.
constexpr const char* kSplitPattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char* kSpecialTokens[] = {"<s>", "</s>", "<pad>"};
constexpr int64_t kNumBytes = 256;

using Pair = std::pair<int32_t, int32_t>;

struct Word {
  std::vector<int32_t> symbols;
  int64_t count = 0;
};

struct Candidate {
  int64_t count = 0;
  Pair pair;
  /// Order of a max-heap: the more frequent pair first, then the older one.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

struct PairHash {
  size_t operator()(const Pair& pair) const {
    const uint64_t both = (static_cast<uint64_t>(static_cast<uint32_t>(pair.first)) << 32) |
                          static_cast<uint32_t>(pair.second);
    return std::hash<uint64_t>{}(both * 0x9E3779B97F4A7C15);
  }
};

class Learner {
 public:
  Learner(const std::unordered_map<std::string, int64_t>& word_counts, int64_t min_count)
      : min_count_(min_count) {
    for (const auto& [piece, symbol] : byte_symbols()) {
      pieces_.push_back(piece);
      symbol_of_byte_[symbol] = static_cast<int32_t>(pieces_.size()) - 1;
    }
    std::vector<std::pair<std::string, int64_t>> sorted(word_counts.begin(), word_counts.end());
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [text, count] : sorted) add_word(text, count);
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
  }

  std::vector<std::pair<std::string, std::string>> run(int64_t max_merges) {
    std::vector<std::pair<std::string, std::string>> merges;
    while (static_cast<int64_t>(merges.size()) < max_merges && !queue_.empty()) {
      Candidate best = queue_.top();
      queue_.pop();
      const int64_t now = counts_[best.pair];
      if (now < min_count_) continue;
      if (best.count != now) {
        queue_.push({now, best.pair});
        continue;
      }
      const auto& left = pieces_[static_cast<size_t>(best.pair.first)];
      const auto& right = pieces_[static_cast<size_t>(best.pair.second)];
      merges.emplace_back(left, right);
      merge(best.pair, symbol_for(left + right));
    }
    return merges;
  }

 private:
  /// Bytes, sorted by the code of their characters.
  static std::vector<std::pair<std::string, size_t>> byte_symbols() {
    std::vector<std::pair<char32_t, size_t>> order;
    for (size_t byte = 0; byte < static_cast<size_t>(kNumBytes); ++byte) {
      order.emplace_back(byte_character(static_cast<uint8_t>(byte)), byte);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::pair<std::string, size_t>> symbols;
    for (const auto& [code, byte] : order) {
      std::string piece;
      append_utf8(code, piece);
      symbols.emplace_back(piece, byte);
    }
    return symbols;
  }

  void add_word(const std::string& text, int64_t count) {
    Word word;
    word.count = count;
    for (const char c : text) word.symbols.push_back(symbol_of_byte_[static_cast<uint8_t>(c)]);
    for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      change({word.symbols[i], word.symbols[i + 1]}, count, words_.size());
    }
    words_.push_back(std::move(word));
  }

  void change(const Pair& pair, int64_t count, size_t word) {
    counts_[pair] += count;
    if (count <= 0) return;
    std::vector<size_t>& places = places_[pair];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  /// Two pairs may form the same piece.
  int32_t symbol_for(const std::string& piece) {
    const auto [found, is_new] = made_.emplace(piece, static_cast<int32_t>(pieces_.size()));
    if (is_new) pieces_.push_back(piece);
    return found->second;
  }

  void merge(const Pair& pair, int32_t result) {
    const std::vector<size_t> places = std::move(places_[pair]);
    places_.erase(pair);
    changed_.clear();
    for (const size_t word : places) merge_word(pair, result, word);
    counts_[pair] = 0;
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const Pair& fresh : changed_) queue_.push({counts_[fresh], fresh});
  }

  void merge_word(const Pair& pair, int32_t result, size_t index) {
    Word& word = words_[index];
    std::vector<int32_t>& symbols = word.symbols;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (symbols[i] != pair.first || symbols[i + 1] != pair.second) continue;
      if (i > 0) replace_pair({symbols[i - 1], pair.first}, {symbols[i - 1], result}, index);
      if (i + 2 < symbols.size()) {
        replace_pair({pair.second, symbols[i + 2]}, {result, symbols[i + 2]}, index);
      }
      symbols[i] = result;
      symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(i) + 1);
    }
  }

  void replace_pair(const Pair& old, const Pair& fresh, size_t word) {
    change(old, -words_[word].count, word);
    change(fresh, words_[word].count, word);
    changed_.push_back(fresh);
  }

  int64_t min_count_;
  std::vector<std::string> pieces_;  // by symbol, as in tokenizer.json
  int32_t symbol_of_byte_[kNumBytes] = {};
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t, PairHash> counts_;
  // words that contain or contained the pair
  std::unordered_map<Pair, std::vector<size_t>, PairHash> places_;
  std::unordered_map<std::string, int32_t> made_;
  std::vector<Pair> changed_;
  std::priority_queue<Candidate> queue_;
};

std::unordered_map<std::string, int64_t> count_words(const std::vector<std::string>& texts) {
  const Pattern pattern = Pattern::regex(kSplitPattern);
  MatchState state;
  std::vector<Span> spans;
  std::unordered_map<std::string, int64_t> counts;
  for (const std::string& given : texts) {
    const std::string text = valid_utf8(given);
    pattern.split(text, state, spans);
    for (const Span& span : spans) ++counts[text.substr(span.begin, span.end - span.begin)];
  }
  return counts;
}

nlohmann::ordered_json byte_level(bool trim_offsets) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", trim_offsets},
          {"use_regex", false}};
}

nlohmann::ordered_json added_token(const char* content, int64_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

nlohmann::ordered_json model_of(const std::vector<std::pair<std::string, std::string>>& merges) {
  nlohmann::ordered_json vocab = nlohmann::ordered_json::object();
  std::vector<std::string> pieces;
  for (int64_t code = 0; code < 0x200; ++code) {
    std::string piece;
    append_utf8(static_cast<char32_t>(code), piece);
    if (from_byte_characters(piece)) pieces.push_back(piece);
  }
  for (const auto& [left, right] : merges) pieces.push_back(left + right);
  std::unordered_map<std::string, int64_t> ids;
  for (const std::string& piece : pieces) {
    const auto next = static_cast<int64_t>(ids.size());
    if (ids.emplace(piece, next).second) vocab.push_back({piece, next});
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", std::move(vocab)},
          {"merges", merges}};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> learn_merges(
    const std::unordered_map<std::string, int64_t>& word_counts, int64_t max_merges,
    int64_t min_count) {
  return Learner(word_counts, min_count).run(max_merges);
}

void train_tokenizer(const std::vector<std::string>& texts, const TrainOptions& options,
                     const std::string& path) {
  const int64_t max_merges =
      options.vocab_size - kNumBytes - static_cast<int64_t>(std::size(kSpecialTokens));
  nlohmann::ordered_json model =
      model_of(learn_merges(count_words(texts), max_merges, options.min_count));
  nlohmann::ordered_json added = nlohmann::ordered_json::array();
  const auto first = static_cast<int64_t>(model["vocab"].size());
  for (const char* content : kSpecialTokens) {
    added.push_back(added_token(content, first + static_cast<int64_t>(added.size())));
  }
  const nlohmann::ordered_json split = {{"type", "Split"},
                                        {"pattern", {{"Regex", kSplitPattern}}},
                                        {"behavior", "Isolated"},
                                        {"invert", false}};
  const nlohmann::ordered_json out = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", std::move(added)},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "Sequence"},
        {"pretokenizers", nlohmann::ordered_json::array({split, byte_level(true)})}}},
      {"post_processor", nullptr},
      {"decoder", byte_level(true)},
      {"model", std::move(model)}};
  write_tokenizer_file(path, out.dump(1) + "\n");
}

}  // namespace s2s::hf
