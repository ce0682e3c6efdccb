#include "loader/open_sampler.h"

#include <fmt/format.h>

#include <cmath>

#include "base/whole_number.h"
#include "loader/loader_errors.h"
#include "s2s/data/duplex_data.h"

namespace s2s::data {
namespace {

constexpr int64_t kShuffleBuffer = 20000;  // lhotse's default, for NeMo's null

bool is_whole(double value) { return std::fabs(value - std::nearbyint(value)) < 1e-6; }

int64_t whole_frames(double seconds, double frame_length_s) {
  return to_whole(std::floor(seconds / frame_length_s + 1e-6));
}

bool has_buckets(const CutBatchesOptions& o) {
  return o.use_bucketing || !o.bucket_batch_size.empty() || !o.bucket_duration_bins.is_null();
}

/// numpy.linspace without both ends.
std::vector<double> even_bins(double begin, double end, int64_t num_buckets) {
  const double step = (end - begin) / static_cast<double>(num_buckets);
  std::vector<double> bins;
  for (int64_t i = 1; i < num_buckets; ++i) bins.push_back(static_cast<double>(i) * step + begin);
  return bins;
}

Bins written_bins(const Config& node, const std::string& path) {
  Bins bins;
  if (!node.is_list() || node.items().empty()) {
    throw loader_errors::bins(path, node, "it is no list, or empty");
  }
  const bool is_2d = node.items().front().is_list();
  for (const Config& item : node.items()) {
    if (item.is_list() != is_2d || (is_2d && item.items().size() != 2)) {
      throw loader_errors::bins(path, item, "an item is of another form");
    }
    bins.lengths.push_back((is_2d ? item.items()[0] : item).as_double(path));
    if (is_2d) bins.num_tokens.push_back(item.items()[1].as_int(path));
  }
  return bins;
}

BatchLimits limits_of(const CutBatchesOptions& o) {
  return {o.batch_duration, o.batch_size, o.quadratic_duration};
}

void set_common(const DatasetScope& scope, SamplerOptions& sampler) {
  const CutBatchesOptions& o = scope.options;
  sampler.seed = scope.shard_seed;
  sampler.shuffle = o.shuffle;
  sampler.drop_last = o.drop_last;
  sampler.warn = scope.context->warn;
  if (const auto& measure = scope.context->measure) {
    sampler.measure = measure;
    sampler.functions = "measured";
    return;
  }
  if (!scope.counts_tokens()) return;
  const Tokenizer* tokenizer = scope.context->tokenizer;
  sampler.measure = [tokenizer](const Cut& cut) {
    return CutSize{cut.duration_s, count_tokens(cut, *tokenizer)};
  };
  sampler.functions = "tokens";
}

}  // namespace

void check_batches(const DatasetScope& scope, Findings& findings) {
  const CutBatchesOptions& o = scope.options;
  if (!o.batch_size && !o.batch_duration && o.bucket_batch_size.empty()) {
    findings.add(loader_errors::no_batch_size(scope.path));
  }
  const auto contradict = [&](bool is_wrong, const char* problem, const char* expected) {
    if (is_wrong) findings.add(loader_errors::options(scope.path, problem, expected));
  };
  contradict(!o.bucket_batch_size.empty() && o.bucket_duration_bins.is_null() && !o.max_duration,
             "bucket_batch_size without bucket_duration_bins", "the bins that the sizes belong to");
  contradict(o.force_map_dataset && o.force_iterable_dataset,
             "force_map_dataset and force_iterable_dataset", "one of the two");
  const bool changes_rows = o.concatenate_samples || o.rir_enabled || o.lowpass_enabled ||
                            o.compression_enabled || o.clipping_enabled;
  contradict(o.concatenate.max_duration > 0 && changes_rows,
             "concatenate together with changes of batches (concatenate_samples, rir_enabled, "
             "lowpass_enabled, compression_enabled, clipping_enabled)",
             "one of the two");
  contradict(o.noise_snr.size() != 2, "noise_snr is no pair", "[from, to] in dB");
  contradict(o.lowpass_frequencies_interval.size() != 2, "lowpass_frequencies_interval is no pair",
             "[from, to] in Hz");
  contradict(o.compression_level_interval.size() != 2 ||
                 o.compression_level_interval[0] >= o.compression_level_interval[1],
             "compression_level_interval does not ascend", "[from, to] between 0 and 1");
  contradict(o.clipping_gain_db.size() != 2 || o.clipping_gain_db[0] >= o.clipping_gain_db[1],
             "clipping_gain_db does not ascend", "[from, to] in dB");
  contradict(!o.compression_codec_weights.empty() &&
                 o.compression_codec_weights.size() != o.compression_codecs.size(),
             "compression_codec_weights are not as many as the codecs", "one for each codec");
  if (scope.counts_tokens() && scope.context->tokenizer == nullptr) {
    const bool filters = o.min_tps > 0 || !o.max_tps.is_null();
    findings.add(
        loader_errors::no_tokenizer(scope.path, filters ? "max_tps" : "bucket_duration_bins"));
  }
}

Bins bucket_bins(const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  Bins bins;
  if (!o.bucket_duration_bins.is_null()) {
    bins = written_bins(o.bucket_duration_bins, scope.path + ".bucket_duration_bins");
    bins.is_strict = o.bucketing_2d_strict_mode;
  } else if (o.max_duration && std::isfinite(*o.max_duration) && !scope.context->measure) {
    bins.lengths =
        even_bins(std::max(0.0, o.min_duration.value_or(0)), *o.max_duration, o.num_buckets);
  }
  for (const Config& ratio : o.max_tps.items()) {
    bins.max_ratio.push_back(ratio.as_double(scope.path + ".max_tps"));
  }
  const bool is_fixed = !o.bucket_batch_size.empty();
  if (!bins.empty() && is_fixed) check_bins(bins, o.bucket_batch_size.size());
  return bins;
}

std::optional<PackRule> pack_rule(const DatasetScope& scope) {
  const PackOptions& o = scope.options.concatenate;
  if (o.max_duration <= 0) return std::nullopt;
  DuplexDataOptions data;
  if (scope.context->data != nullptr) {
    Findings findings;
    OptionReader(*scope.context->data, "data", findings, DuplexDataOptions::other_keys())
        .read(data);
    findings.throw_if_any();
  }
  PackRule rule;
  rule.frame_length_s = data.frame_length;
  rule.seed = scope.shard_seed;
  const bool whole = is_whole(data.frame_length * static_cast<double>(data.source_sample_rate)) &&
                     is_whole(data.frame_length * static_cast<double>(data.target_sample_rate));
  if (!whole) {
    throw loader_errors::concatenate(scope.path, "a frame is not a whole number of samples");
  }
  rule.max_frames = whole_frames(o.max_duration, data.frame_length);
  if (rule.max_frames < 1) {
    throw loader_errors::concatenate(scope.path, "max_duration is less than a frame");
  }
  rule.min_gap_frames = whole_frames(o.gap, data.frame_length);
  rule.max_gap_frames = std::max(rule.min_gap_frames, whole_frames(o.max_gap, data.frame_length));
  rule.open_sequences = o.open_sequences;
  return rule;
}

SamplerPtr open_sampler(StreamPtr source, const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  const auto rule = pack_rule(scope);
  if (rule) {
    // Shuffling comes before packing.
    if (o.shuffle) {
      ShuffleOptions shuffling;
      shuffling.buffer_size = o.shuffle_buffer_size.value_or(kShuffleBuffer);
      shuffling.seed = scope.shard_seed;
      source = shuffle(std::move(source), shuffling);
    }
    source = pack(std::move(source), *rule);
  }
  if (!has_buckets(o)) {
    DynamicCutOptions options;
    set_common(scope, options);
    options.shuffle = o.shuffle && !rule;
    options.limits = limits_of(o);
    options.shuffle_buffer_size = o.shuffle_buffer_size.value_or(kShuffleBuffer);
    return dynamic_cut_sampler(std::move(source), options);
  }
  DynamicBucketingOptions options;
  set_common(scope, options);
  options.bins = bucket_bins(scope);
  options.num_buckets = o.num_buckets;
  options.num_cuts_for_bins = o.num_cuts_for_bins_estimate;
  // Lhotse adds NeMo's shuffle_buffer_size to the buffer of buckets.
  options.buffer_size = o.bucket_buffer_size + o.shuffle_buffer_size.value_or(0);
  options.bucket_group = scope.context->data_size;
  options.limits = limits_of(o);
  if (!o.bucket_batch_size.empty()) {
    options.limits = FixedBatchSizes{o.bucket_batch_size};
    const Bins bins = options.bins;
    const Tokenizer* tokenizer = bins.is_2d() ? scope.context->tokenizer : nullptr;
    source = filter(
        std::move(source),
        [bins, tokenizer, measure = scope.context->measure](const Cut& cut) {
          if (measure) return fits_bucket(bins, measure(cut));
          const int64_t tokens = tokenizer == nullptr ? 0 : count_tokens(cut, *tokenizer);
          return fits_bucket(bins, {cut.duration_s, tokens});
        },
        "fits a bucket");
  }
  return dynamic_bucketing_sampler(std::move(source), options);
}

}  // namespace s2s::data
