#include "source.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>

#include "dialog_list.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"

namespace PLUGIN_NAME {
namespace {

s2s::Error no_tokenizer(const std::string& place) {
  return {s2s::ExitCode::kConfig, "PLUGIN_NAME/no-tokenizer",
          place +
              " needs a tokenizer for its text channels, but there is none; "
              "set model.tokenizer"};
}

std::string long_text(const std::string& place, const s2s::TokenChannelCounts& counts,
                      const s2s::Cut& first) {
  return place + ": " + std::to_string(counts.long_turns) + " of " + std::to_string(counts.turns) +
         " agent turns have more tokens than frames, the first in " + first.place() +
         "; expected at most one token per frame; shorten texts, or set data.long_text";
}

s2s::Error bad_state(const std::string& place, const std::string& state,
                     const std::string& expected) {
  return {s2s::ExitCode::kData, "PLUGIN_NAME/state",
          place + ": the position in the checkpoint is '" + state.substr(0, 80) + "'; expected '" +
              expected + "'; restore the list and batch_size, or start a new run"};
}

/// 0 .. count - 1 in an order that is equal on every machine.
std::vector<size_t> order_of(size_t count, bool shuffle, uint64_t seed, int64_t epoch) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  if (!shuffle) return order;
  std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(epoch));
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace

Source::Source(const Options& options, const s2s::DuplexDataOptions& data,
               const s2s::DataContext& context)
    : options_(options),
      spec_{data},
      place_(context.path),
      seed_(context.seed),
      rank_(context.data_rank),
      num_ranks_(context.data_size),
      tokenizer_(context.tokenizer) {
  if (tokenizer_ == nullptr) throw no_tokenizer(place_);
  dialogs_ = read_dialogs(s2s::resolve_path(options.path, context.base_dir), options.sample_rate);
  s2s::Findings findings;
  s2s::check_duplex_cuts(dialogs_, data, /*allow_no_turns=*/false, /*check_files=*/true, findings);
  findings.throw_if_any();
  check_texts(context);
}

void Source::check_texts(const s2s::DataContext& context) const {
  s2s::TokenChannelCounts counts;
  const s2s::Cut* first = nullptr;
  for (const s2s::Cut& cut : dialogs_) {
    counts += s2s::make_sequence_text({{{&cut, 0}}, 0}, spec_, *tokenizer_).target_counts;
    if (counts.long_turns > 0 && first == nullptr) first = &cut;
  }
  if (first == nullptr) return;
  const std::string message = long_text(place_, counts, *first);
  if (spec_.data.long_text == "error") {
    throw s2s::Error(s2s::ExitCode::kData, "PLUGIN_NAME/long-text", message);
  }
  if (context.warn) context.warn("[PLUGIN_NAME/long-text] " + message);
}

int64_t Source::num_batches() const {
  return (static_cast<int64_t>(dialogs_.size()) + options_.batch_size - 1) / options_.batch_size;
}

std::vector<s2s::CutSequence> Source::rows_of(int64_t batch) {
  const int64_t epoch = batch / num_batches();
  if (epoch != epoch_) order_ = order_of(dialogs_.size(), options_.shuffle, seed_, epoch);
  epoch_ = epoch;
  const auto size = static_cast<size_t>(options_.batch_size);
  const size_t begin = static_cast<size_t>(batch % num_batches()) * size;
  std::vector<s2s::CutSequence> rows;
  for (size_t i = begin; i < std::min(begin + size, order_.size()); ++i) {
    rows.push_back({{{&dialogs_[order_[i]], 0}}, 0});
  }
  return rows;
}

std::optional<s2s::Batch> Source::next() {
  const auto is_over = [&](int64_t batch) { return !options_.repeat && batch >= num_batches(); };
  if (is_over(position_)) return std::nullopt;
  const int64_t mine = position_ + rank_;
  position_ += num_ranks_;
  if (is_over(mine)) return std::nullopt;  // other ranks have the last batches
  return s2s::make_batch(rows_of(mine), spec_, *tokenizer_, loader_);
}

std::string Source::state() const {
  return std::to_string(position_) + " batches of " + std::to_string(options_.batch_size) +
         " from " + std::to_string(dialogs_.size()) + " dialogues";
}

void Source::restore(const std::string& state) {
  int64_t position = 0;
  std::istringstream(state) >> position;
  position_ = std::max<int64_t>(position, 0);
  if (!state.empty() && this->state() != state) throw bad_state(place_, state, this->state());
}

std::vector<std::string> Source::texts() {
  std::vector<std::string> texts;
  const std::vector<std::string>& roles = spec_.data.output_roles;
  for (const s2s::Cut& cut : dialogs_) {
    for (const s2s::Supervision& turn : cut.supervisions) {
      const bool is_agent = std::find(roles.begin(), roles.end(), turn.speaker) != roles.end();
      if (is_agent) texts.push_back(s2s::clean_text(turn.text.value_or("")));
    }
  }
  return texts;
}

std::unique_ptr<s2s::DataSource> create(const s2s::Config& options,
                                        const s2s::DataContext& context) {
  s2s::Findings findings;
  Options read;
  s2s::DuplexDataOptions data;  // the `data` block
  s2s::OptionReader(options, context.path, findings).read(read);
  if (context.data != nullptr) {
    s2s::OptionReader(*context.data, "data", findings, s2s::DuplexDataOptions::other_keys())
        .read(data);
  }
  findings.throw_if_any();
  return std::make_unique<Source>(read, data, context);
}

}  // namespace PLUGIN_NAME
