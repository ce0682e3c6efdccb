#include "sampling/sampler_parts.h"

#include <fmt/format.h>

#include "stream/packed_text.h"

namespace s2s::data {

std::string packed_items(const std::deque<SizedItem>& items) {
  PackedWriter writer;
  writer.add(static_cast<int64_t>(items.size()));
  for (const SizedItem& item : items) {
    writer.add_all(item.item.token);
    writer.add_double(item.size.length);
    writer.add(item.size.num_tokens);
  }
  return writer.text();
}

std::deque<SizedItem> unpacked_items(const std::string& text) {
  PackedReader reader(text);
  std::deque<SizedItem> items;
  for (int64_t left = reader.next(); left > 0; --left) {
    SizedItem& item = items.emplace_back();
    item.item.token = reader.next_all();
    item.size.length = reader.next_double();
    item.size.num_tokens = reader.next();
  }
  if (!reader.at_end()) throw stream_errors::damaged_state("a list of cuts is too long");
  return items;
}

StreamState counts_state(const SamplerCounts& counts) {
  return {counts.kept_cuts, counts.discarded_cuts, counts.kept_batches, counts.discarded_batches};
}

SamplerCounts restored_counts(const StreamState& state) {
  const auto numbers = state_field<std::vector<int64_t>>(state, "counts");
  if (numbers.size() != 4) throw stream_errors::damaged_state("'counts' is no list of 4");
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

std::string description(const SamplerOptions& options) {
  return fmt::format("{} {} {} {} [{}]", options.seed, options.shuffle, options.drop_last,
                     options.passes_before, options.functions);
}

SizedStream::SizedStream(std::shared_ptr<CutStream> source, const SamplerOptions& options)
    : source_(std::move(source)),
      measure_(options.measure),
      filter_(options.filter),
      passes_before_(options.passes_before),
      keep_cuts_(options.keep_cuts) {}

std::optional<SizedItem> SizedStream::next(SamplerCounts& counts) {
  while (std::optional<CutItem> item = source_->next()) {
    item->cut = cut_of(*item, *source_);
    if (passes(*item)) return sized(std::move(*item));
    ++counts.discarded_cuts;
  }
  return std::nullopt;
}

std::optional<SizedItem> SizedStream::next_of_all() {
  std::optional<CutItem> item = source_->next();
  if (!item) return std::nullopt;
  item->cut = cut_of(*item, *source_);
  return sized(std::move(*item));
}

SizedItem SizedStream::sized(CutItem item) const {
  const CutSize size = measured(*item.cut);
  if (!keep_cuts_) item.cut = nullptr;
  return {std::move(item), size};
}

CutSize SizedStream::measured(const Cut& cut) const {
  return measure_ ? measure_(cut) : CutSize{cut.duration_s, 0};
}

void LongCutWarning::about(const SizedItem& item, const CutStream& stream) {
  if (has_warned_ || !warn_) return;
  has_warned_ = true;
  warn_(
      fmt::format("{}: its length of {} exceeds what a batch may have; it is a batch of its own "
                  "(lower max_duration to leave such cuts out); later ones are not reported",
                  cut_of(item.item, stream)->place(), item.size.length));
}

}  // namespace s2s::data
