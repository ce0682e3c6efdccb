#include "cuts_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "audio_cache.h"
#include "cuts_errors.h"
#include "random_order.h"
#include "s2s/cut_files.h"
#include "s2s/frames.h"

namespace s2s::cuts {
namespace {

std::vector<std::string> manifest_paths(const Config& node, const BuildContext& context) {
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

BatchRule batch_rule(const CutsOptions& options, const DuplexDataOptions& data,
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

const Tokenizer& tokenizer_of(const BuildContext& context) {
  if (context.tokenizer == nullptr) throw errors::no_tokenizer(context.path);
  return *context.tokenizer;
}

std::vector<Cut> select_cuts(std::vector<Cut> cuts, const CutsOptions& options) {
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

void warn(const BuildContext& context, const std::string& message) {
  if (context.warn) context.warn(message);
}

}  // namespace

CutsSource::CutsSource(const CutsOptions& options, const DuplexDataOptions& data,
                       const BuildContext& context)
    : options_(options),
      spec_{data, options.sample_rate.value_or(0)},
      rule_(batch_rule(options, data, context.path)),
      path_(context.path),
      tokenizer_(tokenizer_of(context)),
      seed_(options.seed ? static_cast<uint64_t>(*options.seed) : context.seed),
      data_rank_(context.data_rank),
      data_size_(context.data_size) {
  const std::vector<std::string> paths = manifest_paths(options.cuts_path, context);
  CutManifest manifest = read_cuts(paths);
  for (const std::string& message : manifest.warnings) warn(context, message);
  const auto num_read = static_cast<int64_t>(manifest.cuts.size());
  cuts_ = select_cuts(std::move(manifest.cuts), options);
  if (cuts_.empty()) throw errors::nothing_left(path_, num_read, paths);
  Findings findings;
  check_duplex_cuts(cuts_, data, options.allow_no_turns, options.check_files, findings);
  findings.throw_if_any();
  report_texts(context);
  if (plan_of(0)->empty()) throw errors::no_full_batch(path_, static_cast<int64_t>(cuts_.size()));
  fingerprint_ = fingerprint();
  loader_ = options.cache_audio ? std::make_shared<AudioCache>() : std::make_shared<AudioLoader>();
  if (options.num_workers > 0) prefetcher_ = std::make_unique<Prefetcher>(options.num_workers);
}

// Whoever made the data should know what a text that does not fit costs.
void CutsSource::report_texts(const BuildContext& context) const {
  TokenChannelCounts counts;
  const Cut* first_long = nullptr;
  const Cut* first_cut_off = nullptr;
  for (const Cut& cut : cuts_) {
    const TokenChannelCounts more =
        make_sequence_text({{{&cut, 0}}, 0}, spec_, tokenizer_).target_counts;
    if (more.long_turns > 0 && first_long == nullptr) first_long = &cut;
    if (more.truncated_tokens + more.skipped_turns > 0 && first_cut_off == nullptr) {
      first_cut_off = &cut;
    }
    counts += more;
  }
  if (first_long != nullptr) {
    const std::string message = errors::long_text(path_, counts, *first_long, spec_.data);
    if (spec_.data.long_text == "error") throw errors::too_long_text(message);
    warn(context, "[data/long-text] " + message);
  }
  if (first_cut_off != nullptr) {
    warn(context, errors::text_cut_off(path_, counts, *first_cut_off));
  }
}

const std::shared_ptr<const EpochPlan>& CutsSource::plan_of(int64_t epoch) {
  if (plan_epoch_ != epoch || !plan_) {
    plan_ = std::make_shared<const EpochPlan>(plan_epoch(cuts_, rule_, seed_, epoch));
    plan_epoch_ = epoch;
  }
  return plan_;
}

std::optional<CutsSource::Position> CutsSource::advance(Position position, int64_t count) {
  position.batch += count;
  for (;;) {
    const auto size = static_cast<int64_t>(plan_of(position.epoch)->size());
    if (position.batch < size) return position;
    if (!options_.repeat) return std::nullopt;
    position.batch -= size;
    ++position.epoch;
  }
}

std::optional<BatchJob> CutsSource::job_at(Position position) {
  const std::optional<Position> mine = advance(position, data_rank_);
  if (!mine) return std::nullopt;
  std::shared_ptr<const EpochPlan> plan = plan_of(mine->epoch);
  return [this, plan = std::move(plan), batch = static_cast<size_t>(mine->batch)] {
    return make_batch((*plan)[batch], spec_, tokenizer_, *loader_);
  };
}

void CutsSource::fill_ahead() {
  while (submitted_ && prefetcher_->num_pending() < options_.prefetch_batches) {
    std::optional<BatchJob> job = job_at(*submitted_);
    submitted_ = advance(*submitted_, data_size_);
    if (!job) return;
    prefetcher_->submit(std::move(*job));
  }
}

std::optional<Batch> CutsSource::next() {
  if (!handed_out_) return std::nullopt;
  std::optional<Batch> batch;
  if (prefetcher_) {
    fill_ahead();
    if (prefetcher_->num_pending() > 0) batch = prefetcher_->take();
  } else if (const std::optional<BatchJob> job = job_at(*handed_out_)) {
    batch = (*job)();
  }
  handed_out_ = advance(*handed_out_, data_size_);
  return batch;
}

uint64_t CutsSource::fingerprint() const {
  uint64_t hash = mix_bits(seed_);
  const auto add = [&hash](uint64_t value) { hash = mix_bits(hash ^ value); };
  for (const Cut& cut : cuts_) {
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

std::string CutsSource::state() const {
  nlohmann::ordered_json json;
  json["epoch"] = handed_out_ ? handed_out_->epoch : 0;
  json["batch"] = handed_out_ ? handed_out_->batch : -1;  // -1: at the end
  json["order"] = fmt::format("{:016x}", fingerprint_);
  return json.dump();
}

void CutsSource::restore(const std::string& state) {
  Position position;
  if (!state.empty()) {
    std::string order;
    try {
      const auto json = nlohmann::json::parse(state);
      position = {json.at("epoch").get<int64_t>(), json.at("batch").get<int64_t>()};
      order = json.at("order").get<std::string>();
    } catch (const nlohmann::json::exception& error) {
      throw errors::bad_state(path_, state, error.what());
    }
    if (order != fmt::format("{:016x}", fingerprint_)) {
      if (!options_.allow_changed_data) throw errors::changed_data(path_);
      position.batch = 0;
    }
  }
  if (prefetcher_) prefetcher_->clear();
  handed_out_ = position.batch < 0 ? std::nullopt : std::optional(position);
  submitted_ = handed_out_;
}

std::vector<std::string> CutsSource::texts() {
  std::vector<std::string> texts;
  const std::vector<std::string>& roles = spec_.data.output_roles;
  for (const Cut& cut : cuts_) {
    for (const Supervision& turn : cut.supervisions) {
      const bool is_agent = std::find(roles.begin(), roles.end(), turn.speaker) != roles.end();
      if (is_agent && turn.text) texts.push_back(clean_text(*turn.text));
    }
  }
  return texts;
}

}  // namespace s2s::cuts
