#include "samplers/sampler_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "samplers/sampling_errors.h"
#include "streams/packed_text.h"

namespace s2s::data {

std::string packed_items(const std::deque<SizedItem>& items) {
  PackedWriter writer;
  writer.add(static_cast<int64_t>(items.size()));
  for (const SizedItem& item : items) {
    writer.add_all(item.item.key);
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
    item.item.key = reader.next_all();
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
  warn_(fmt::format(
      "{}: its length of {} exceeds the maximum of a batch, so it forms a batch alone (lower "
      "max_duration to skip such cuts); further cuts of this kind are not reported",
      cut_of(item.item, stream)->place(), item.size.length));
}

void BatchCount::add(double length) {
  ++num_cuts_;
  if (!limits_->max_length) return;
  if (limits_->quadratic_length) length += length * length / *limits_->quadratic_length;
  longest_ = std::max(longest_, length);
}

bool BatchCount::exceeded() const {
  if (limits_->max_cuts && num_cuts_ > *limits_->max_cuts) return true;
  if (!limits_->max_length) return false;
  return static_cast<double>(num_cuts_) * longest_ > *limits_->max_length;
}

bool BatchCount::close_to_exceeding() const {
  if (limits_->max_cuts && num_cuts_ >= *limits_->max_cuts) return true;
  if (!limits_->max_length) return false;
  return static_cast<double>(num_cuts_ + 1) * longest_ > *limits_->max_length;
}

void check_limits(const BatchLimits& limits) {
  if (!limits.max_length && !limits.max_cuts) throw sampling_errors::no_limit();
  if (limits.max_length && !(*limits.max_length > 0)) {
    throw sampling_errors::limit("batch_duration", *limits.max_length);
  }
  if (limits.max_cuts && *limits.max_cuts <= 0) {
    throw sampling_errors::limit("batch_size", static_cast<double>(*limits.max_cuts));
  }
  if (limits.quadratic_length && !(*limits.quadratic_length > 0)) {
    throw sampling_errors::limit("quadratic_duration", *limits.quadratic_length);
  }
}

std::string description(const BatchLimits& limits) {
  std::ostringstream text;
  text << std::hexfloat << limits.max_length.value_or(-1) << ' ' << limits.max_cuts.value_or(-1)
       << ' ' << limits.quadratic_length.value_or(-1) << " 0";
  return text.str();
}

}  // namespace s2s::data
