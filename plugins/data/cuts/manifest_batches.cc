#include "manifest_batches.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "cuts_errors.h"
#include "random_order.h"
#include "s2s/cut_files.h"
#include "s2s/frames.h"

namespace s2s::cuts {
namespace {

std::vector<std::string> manifest_paths(const Config& node, const CutBatchesContext& context) {
  std::vector<const Config*> items;
  if (node.is_scalar()) items.push_back(&node);
  for (const Config& item : node.items()) items.push_back(&item);
  std::vector<std::string> paths;
  for (const Config* item : items) {
    if (!item->is_scalar() || item->text().empty() || item->text() == "???") {
      throw errors::no_path(context.path);
    }
    const std::filesystem::path given(item->text());
    paths.push_back(
        given.is_absolute()
            ? given.string()
            : (std::filesystem::path(context.base_dir) / given).lexically_normal().string());
  }
  if (paths.empty()) throw errors::no_path(context.path);
  return paths;
}

bool is_whole(double value) { return std::fabs(value - std::nearbyint(value)) < 1e-6; }

int64_t whole_frames(double seconds, double frame_length_s) {
  return static_cast<int64_t>(std::floor(seconds / frame_length_s + 1e-6));
}

PackRule pack_rule(const ConcatenateOptions& options, const DuplexDataOptions& data,
                   const std::string& path) {
  PackRule rule;
  rule.frame_length_s = data.frame_length;
  if (options.max_duration <= 0) return rule;
  const bool whole = is_whole(data.frame_length * static_cast<double>(data.source_sample_rate)) &&
                     is_whole(data.frame_length * static_cast<double>(data.target_sample_rate));
  if (!whole) throw errors::concatenate(path, "a frame is not a whole number of samples");
  rule.max_frames = whole_frames(options.max_duration, data.frame_length);
  if (rule.max_frames < 1) throw errors::concatenate(path, "max_duration is less than a frame");
  rule.min_gap_frames = whole_frames(options.gap, data.frame_length);
  rule.max_gap_frames =
      std::max(rule.min_gap_frames, whole_frames(options.max_gap, data.frame_length));
  rule.open_sequences = options.open_sequences;
  return rule;
}

BatchRule batch_rule(const ManifestOptions& options, const DuplexDataOptions& data,
                     const std::string& path) {
  if (!options.batch_size && !options.batch_duration) throw errors::no_batch_size(path);
  BatchRule rule;
  if (options.batch_size) rule.max_rows = *options.batch_size;
  if (options.batch_duration) rule.max_seconds = *options.batch_duration;
  rule.drop_last = options.drop_last;
  rule.shuffle = options.shuffle;
  rule.pack = pack_rule(options.concatenate, data, path);
  return rule;
}

std::vector<Cut> select_cuts(std::vector<Cut> cuts, const ManifestOptions& options) {
  const auto unwanted = [&](const Cut& cut) {
    return cut.duration_s < options.min_duration ||
           (options.max_duration && cut.duration_s > *options.max_duration);
  };
  cuts.erase(std::remove_if(cuts.begin(), cuts.end(), unwanted), cuts.end());
  if (options.limit && static_cast<int64_t>(cuts.size()) > *options.limit) {
    cuts.resize(static_cast<size_t>(*options.limit));
  }
  return cuts;
}

}  // namespace

ManifestBatches::ManifestBatches(const ManifestOptions& options, const DuplexDataOptions& data,
                                 const CutBatchesContext& context)
    : path_(context.path),
      rule_(batch_rule(options, data, context.path)),
      repeat_(context.allow_infinite),
      seed_((options.seed ? static_cast<uint64_t>(*options.seed) : context.seed) +
            context.seed_shift) {
  CutManifest manifest = read_cuts(manifest_paths(options.cuts_path, context));
  for (const std::string& message : manifest.warnings) {
    if (context.warn) context.warn(message);
  }
  cuts_ = std::make_shared<const std::vector<Cut>>(select_cuts(std::move(manifest.cuts), options));
  fingerprint_ = hash_of_order();
  begin_epoch(0);
}

void ManifestBatches::begin_epoch(int64_t epoch) {
  plan_ = plan_epoch(*cuts_, rule_, seed_, epoch);
  epoch_ = epoch;
  batch_ = 0;
}

BatchOfCuts ManifestBatches::as_batch(const PlannedRows& rows) const {
  BatchOfCuts batch;
  batch.epoch = epoch_;
  for (const CutSequence& row : rows) {
    BatchRow& out = batch.rows.emplace_back();
    out.num_frames = row.num_frames;
    for (const SequencePart& part : row.parts) {
      out.cuts.push_back({{part.cut - cuts_->data()},
                          std::shared_ptr<const Cut>(cuts_, part.cut),
                          part.first_frame});
    }
  }
  return batch;
}

std::optional<BatchOfCuts> ManifestBatches::next() {
  if (batch_ == static_cast<int64_t>(plan_.size())) {
    if (!repeat_ || plan_.empty()) return std::nullopt;
    begin_epoch(epoch_ + 1);
  }
  return as_batch(plan_[static_cast<size_t>(batch_++)]);
}

std::string ManifestBatches::state() const {
  return std::to_string(epoch_) + " " + std::to_string(batch_);
}

void ManifestBatches::restore(const std::string& state) {
  int64_t epoch = 0, batch = 0;
  if (!state.empty() && std::sscanf(state.c_str(), "%ld %ld", &epoch, &batch) != 2) {
    throw errors::bad_state(path_, state, "it is not two numbers");
  }
  if (epoch != epoch_) begin_epoch(epoch);
  batch_ = std::clamp<int64_t>(batch, 0, static_cast<int64_t>(plan_.size()));
}

std::shared_ptr<const Cut> ManifestBatches::make(const std::vector<int64_t>& token) const {
  return {cuts_, &cuts_->at(static_cast<size_t>(token.at(0)))};
}

void ManifestBatches::visit_cuts(const std::function<bool(const Cut&)>& visit) const {
  for (const Cut& cut : *cuts_) {
    if (!visit(cut)) return;
  }
}

uint64_t ManifestBatches::hash_of_order() const {
  uint64_t hash = mix_bits(seed_);
  const auto add = [&hash](uint64_t value) { hash = mix_bits(hash ^ value); };
  for (const Cut& cut : *cuts_) {
    for (const char c : cut.id) add(static_cast<unsigned char>(c));
    add(static_cast<uint64_t>(std::llround(cut.duration_s * 1e6)));
  }
  const PackRule& pack = rule_.pack;
  for (const int64_t value :
       {rule_.max_rows, int64_t{rule_.drop_last}, int64_t{rule_.shuffle}, pack.max_frames,
        pack.min_gap_frames, pack.max_gap_frames, pack.open_sequences}) {
    add(static_cast<uint64_t>(value));
  }
  const bool limited = std::isfinite(rule_.max_seconds);
  add(limited ? static_cast<uint64_t>(std::llround(rule_.max_seconds * 1e6)) : 0);
  return hash;
}

}  // namespace s2s::cuts
