#include "samplers/sampler_parts.h"

#include <fmt/format.h>

#include "streams/packed_text.h"

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
  return fmt::format("{} {} {} 0 [{}]", options.seed, options.shuffle, options.drop_last,
                     options.functions);
}

SizedStream::SizedStream(StreamPtr source, const SamplerOptions& options)
    : source_(std::move(source)), measure_(options.measure) {}

std::optional<SizedItem> SizedStream::next() {
  std::optional<CutItem> item = source_->next();
  if (!item) return std::nullopt;
  item->cut = cut_of(*item, *source_);
  const CutSize size = measured(*item->cut);
  return SizedItem{std::move(*item), size};
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
