#include "loader/dataset_scope.h"

#include "loader/loader_errors.h"

namespace s2s::data {
namespace {
constexpr uint64_t kSeedLimit = uint64_t{1} << 62;
constexpr uint64_t kDrawnLimit = uint64_t{1} << 31;  // as Python's secrets.randbelow in lhotse
}  // namespace

SeedReader::SeedReader(const CutBatchesContext& context)
    : context_(context),
      run_seed_(static_cast<int64_t>((context.seed + context.seed_shift) % kSeedLimit)) {}

int64_t SeedReader::read(const Config& node, const std::string& path, int64_t fallback) {
  if (node.is_null()) return fallback;
  if (node.is_scalar() && node.text() == "randomized") return fallback;
  if (node.is_scalar() && node.text() == "trng") {
    if (!entropy_) {
      const uint64_t drawn = context_.draw_entropy ? context_.draw_entropy() : 0;
      entropy_ = static_cast<int64_t>((drawn + context_.seed_shift) % kDrawnLimit);
    }
    return *entropy_;
  }
  try {
    const int64_t seed = node.as_int(path);
    return static_cast<int64_t>((static_cast<uint64_t>(seed) + context_.seed_shift) % kSeedLimit);
  } catch (const Error&) {
    throw loader_errors::seed(path, node);
  }
}

bool DatasetScope::counts_tokens() const {
  const Config& bins = options.bucket_duration_bins;
  const bool is_2d = bins.is_list() && !bins.items().empty() && bins.items().front().is_list();
  return is_2d || options.min_tps > 0 || !options.max_tps.is_null();
}

int64_t count_tokens(const Cut& cut, const Tokenizer& tokenizer) {
  int64_t count = 0;
  if (cut.kind == Cut::Kind::kMixed) {
    for (const MixTrack& track : cut.tracks) {
      // Tracks with their own level are noise. NeMo counts before it adds noise.
      if (!track.mute && !track.snr_db) count += count_tokens(*track.cut, tokenizer);
    }
    return count;
  }
  for (const Supervision& turn : cut.supervisions) {
    if (turn.text) count += static_cast<int64_t>(tokenizer.encode(*turn.text).size());
  }
  return count;
}

InputAttributes input_attributes(const DatasetScope& scope) {
  const CutBatchesOptions& o = scope.options;
  InputAttributes attributes;
  attributes.shuffle = o.shuffle;
  attributes.shard_seed = scope.shard_seed;
  attributes.text_field = o.text_field;
  attributes.lang_field = o.lang_field;
  attributes.metadata_only = o.metadata_only;
  attributes.force_finite = o.force_finite || scope.is_finite;
  attributes.max_open_streams = scope.is_finite ? std::nullopt : o.max_open_streams;
  attributes.skip_missing_manifest_entries =
      o.skip_missing_manifest_entries || o.tarred_random_access;
  attributes.force_map_dataset = o.force_map_dataset;
  attributes.force_iterable_dataset = o.force_iterable_dataset;
  attributes.slice_length = o.slice_length;
  attributes.on_bad = scope.context->on_bad;
  attributes.as_prompts = scope.context->as_prompts;
  return attributes;
}

}  // namespace s2s::data
