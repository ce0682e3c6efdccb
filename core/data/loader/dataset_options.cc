#include "loader/dataset_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace s2s::data {
namespace {

constexpr const char* kText = "no effect: text examples are not read";

}  // namespace

void CutsSourceOptions::visit(OptionVisitor& v) {
  v("repeat", repeat, "restart at the end of the data; false: one pass (validation)");
  v("sample_rate", sample_rate,
    "sample rate for frame counts in Hz (NeMo's loader resamples to it); null: that of the "
    "recording",
    at_least(1));
  v("codes_field", codes_field,
    "the cuts' field with the codec's tokens of the agent's audio, as s2s-run data encode writes "
    "it (target_codes); the codec does not run, and the agent's audio is not loaded; null: the "
    "codec runs");
  v("num_workers", num_workers,
    "number of threads that decode, resample and pad cuts in advance; 0: load on demand",
    between(0, 256));
  v("prefetch_batches", prefetch_batches, "number of batches to prefetch", between(1, 1024));
  v("pin_memory", pin_memory,
    "put batches in page-locked memory for asynchronous copies to the GPU; no effect without a "
    "GPU");
  v("cache_audio", cache_audio, "cache all audio in memory after its first use");
  v("check_files", check_files,
    "check at the start that the audio files of the first 20000 cuts exist; other files are "
    "checked when read");
  v("skip_bad", skip_bad,
    "maximum number of bad cuts (unreadable, wrong length, no turns, ...) that a data rank skips "
    "and lists; one more stops the run",
    at_least(0));
  v("longest_cut", longest_cut,
    "maximum cut duration in seconds; a longer cut is bad, because a whole row of a batch is in "
    "memory",
    at_least(0.001));
  v("allow_no_turns", allow_no_turns, "accept cuts without turns");
  v("allow_changed_data", allow_changed_data,
    "allow resuming with other cuts or options; the epoch restarts");
  v("on_restart", on_restart,
    "continue: a resumed run reads the same data as an uninterrupted one; reshuffle: it restarts "
    "the epoch with other seeds",
    one_of({"continue", "reshuffle"}));
}

void PackOptions::visit(OptionVisitor& v) {
  v("max_duration", max_duration,
    "maximum sequence length in seconds, a whole number of frames; 0: do not concatenate",
    at_least(0));
  v("gap", gap, "silence between two cuts in seconds, a whole number of frames", at_least(0));
  v("max_gap", max_gap, "if longer than gap, the silence is drawn uniformly from [gap, max_gap]",
    at_least(0));
  v("open_sequences", open_sequences, "number of sequences that are filled at the same time",
    at_least(1));
}

void CutBatchesOptions::visit(OptionVisitor& v) {
  visit_input(v);
  visit_order(v);
  visit_batches(v);
  visit_filters(v);
  visit_cut_changes(v);
  visit_batch_changes(v);
  visit_effects(v);
  visit_unused(v);
}

void CutBatchesOptions::visit_input(OptionVisitor& v) {
  v("input_cfg", input_cfg, "sources with weights: a list, or the path of a YAML file");
  v("cuts_path", cuts_path, "Lhotse cuts, .jsonl or .jsonl.gz: a file or a list of files");
  v("shar_path", shar_path,
    "Lhotse Shar: a directory, a list of directories or of [directory, weight], or a map from "
    "fields to shards");
  v("manifest_filepath", manifest_filepath, "NeMo manifest: a path, a pattern or a list");
  v("tarred_audio_filepaths", tarred_audio_filepaths,
    "tar files of the NeMo manifest: a path, a pattern or a list");
  v("extra_fields", extra_fields,
    "extra fields for a NeMo manifest: [{type: text_iter, name, path}]");
  v("skip_missing_manifest_entries", skip_missing_manifest_entries,
    "skip tar members that are missing in the NeMo manifest");
  v("tarred_random_access", tarred_random_access, "old name of skip_missing_manifest_entries");
  v("text_field", text_field, "key of the text in a NeMo manifest");
  v("lang_field", lang_field, "key of the language in a NeMo manifest");
  v("metadata_only", metadata_only, "one pass over the manifests only; audio cannot be loaded");
  v("force_finite", force_finite, "one pass, also over mixed and tarred sources");
  v("force_map_dataset", force_map_dataset,
    "allow mixing tarred and other sources, as finite passes");
  v("force_iterable_dataset", force_iterable_dataset,
    "allow mixing tarred and other sources, as an endless stream");
  v("slice_length", slice_length,
    "number of consecutive cuts to read from each shard, from a random start", at_least(1));
  v("max_open_streams", max_open_streams, "endless mix of shards with this many open at a time",
    at_least(1));
  v("reweight_temperature", reweight_temperature,
    "exponent of the weights of input_cfg: a number, or one per level; below 1: more uniform");
  v("limit", limit, "read only the first cuts of a pass", at_least(1));
}

void CutBatchesOptions::visit_order(OptionVisitor& v) {
  v("shuffle", shuffle, "shuffle in each epoch; false: the order of the source");
  v("shuffle_buffer_size", shuffle_buffer_size,
    "size of the buffer from which the next cut is drawn", at_least(1));
  v("seed", seed,
    "random seed: an integer, or randomized or trng (a new seed at every start); null: the seed of "
    "the run",
    "seed");
  v("shard_seed", shard_seed,
    "random seed of shard order, mixing, shuffling and augmentation; same values as seed; null: "
    "seed (NeMo: trng)",
    "seed");
}

void CutBatchesOptions::visit_batches(OptionVisitor& v) {
  v("batch_size", batch_size, "maximum number of rows in a batch", at_least(1));
  v("batch_duration", batch_duration,
    "maximum audio in a batch in seconds: number of cuts x longest cut", at_least(0));
  v("quadratic_duration", quadratic_duration,
    "in seconds; a cut of d seconds counts as d + d * d / quadratic_duration in batch_duration",
    at_least(0));
  v("drop_last", drop_last, "skip the last batch of an epoch if it is not full");
  v("use_bucketing", use_bucketing, "batch cuts of similar length");
  v("bucket_batch_size", bucket_batch_size, "batch size of each bucket", at_least(1));
  v("num_buckets", num_buckets, "number of buckets if bucket_duration_bins is not set",
    at_least(2));
  v("num_cuts_for_bins_estimate", num_cuts_for_bins_estimate,
    "number of cuts from which the bins are estimated", at_least(2));
  v("bucket_duration_bins", bucket_duration_bins,
    "upper bounds in seconds, or of [seconds, tokens]; null: from min_duration to max_duration, or "
    "estimated");
  v("bucket_buffer_size", bucket_buffer_size,
    "number of cuts in all buckets, in addition to shuffle_buffer_size (as in NeMo)", at_least(1));
  v("concurrent_bucketing", concurrent_bucketing,
    "no effect: batches are always planned in advance");
  v("bucketing_2d_strict_mode", bucketing_2d_strict_mode,
    "2-D bins: skip cuts that have too many tokens for the buckets of their duration");
  v("concatenate", concatenate, "concatenate several cuts to one sequence");
  v("multi_config", multi_config, "each key that is a map is a data set with its own options");
  v("sampler_fusion", sampler_fusion, "multi_config: how the set of the next batch is chosen",
    one_of({"round_robin", "randomized_round_robin", "zip"}));
  v("sampler_weights", sampler_weights, "randomized_round_robin: weight of each set");
}

void CutBatchesOptions::visit_filters(OptionVisitor& v) {
  v("min_duration", min_duration, "skip shorter cuts, in seconds");
  v("max_duration", max_duration, "skip longer cuts, in seconds; null: no limit");
  v("min_tps", min_tps, "skip cuts with fewer tokens per second");
  v("max_tps", max_tps,
    "skip cuts with more tokens per second; a number, or a list with one per 2-D bucket");
  v("max_cer", max_cer, "skip cuts whose first turn has a higher custom field cer");
  v("min_context_speaker_similarity", min_context_speaker_similarity,
    "skip cuts whose first turn has a lower context_speaker_similarity");
  v("keep", keep, "skip cuts with another custom field validation_status");
}

void CutBatchesOptions::visit_cut_changes(OptionVisitor& v) {
  v("channel_selector", channel_selector,
    "channel of multi-channel recordings: a number, or the custom field that contains it");
  v("noise_path", noise_path, "noise to mix in: a manifest, or a map with the keys of an input");
  v("noise_snr", noise_snr, "range in dB, as [from, to]");
  v("noise_mix_prob", noise_mix_prob, "fraction of the cuts", between(0, 1));
  v("perturb_speed", perturb_speed,
    "use each cut at its own speed and at 0.9 and 1.1 times that speed");
  v("truncate_duration", truncate_duration,
    "in seconds; take one piece of this length from longer cuts", at_least(0));
  v("truncate_offset_type", truncate_offset_type, "which piece to take",
    one_of({"random", "start", "end"}));
  v("cut_into_windows_duration", cut_into_windows_duration,
    "in seconds; split cuts into pieces of this length", at_least(0));
  v("cut_into_windows_hop", cut_into_windows_hop,
    "seconds from the start of one piece to the next; null: no overlap", at_least(0));
  v("keep_excessive_supervisions", keep_excessive_supervisions,
    "keep turns that extend beyond their piece");
  v("pad_min_duration", pad_min_duration, "in seconds; pad shorter cuts to this duration",
    at_least(0));
  v("pad_direction", pad_direction, "where silence is added",
    one_of({"right", "left", "both", "random"}));
}

void CutBatchesOptions::visit_batch_changes(OptionVisitor& v) {
  v("concatenate_samples", concatenate_samples,
    "join cuts of a batch into rows as long as the longest cut");
  v("concatenate_gap_seconds", concatenate_gap_seconds, "seconds of silence between joined cuts",
    at_least(0));
  v("concatenate_duration_factor", concatenate_duration_factor,
    "maximum row length, as a multiple of the longest cut", at_least(0));
  v("concatenate_merge_supervisions", concatenate_merge_supervisions,
    "merge all turns of a row into one; set false for dialogues");
  v("db_norm", db_norm, "target loudness of joined cuts; null: unchanged");
  v("rir_enabled", rir_enabled, "reverberation: convolve cuts with a random room impulse response");
  v("rir_path", rir_path, "recordings of impulse responses (.jsonl); null: synthetic responses");
  v("rir_prob", rir_prob, "fraction of the cuts", between(0, 1));
  v("lowpass_enabled", lowpass_enabled, "band limiting: filter cuts with a lowpass");
  v("lowpass_frequencies_interval", lowpass_frequencies_interval, "range in Hz, as [from, to]",
    at_least(1));
  v("lowpass_prob", lowpass_prob, "fraction of the cuts", between(0, 1));
}

void CutBatchesOptions::visit_effects(OptionVisitor& v) {
  v("compression_enabled", compression_enabled, "encode and decode cuts with lossy codecs");
  v("compression_prob", compression_prob, "fraction of the cuts", between(0, 1));
  v("compression_level_interval", compression_level_interval,
    "range of compression, from 0 (best quality) to 1 (smallest), as [from, to]", between(0, 1));
  v("compression_codecs", compression_codecs, "codecs to draw from",
    one_of({"opus", "mp3", "vorbis", "gsm"}));
  v("compression_codec_weights", compression_codec_weights, "weights of the codecs; empty: equal",
    at_least(0));
  v("compression_enable_for_custom_fields", compression_enable_for_custom_fields,
    "apply it also to the agent's audio");
  v("clipping_enabled", clipping_enabled, "clipping: amplify cuts beyond full scale");
  v("clipping_gain_db", clipping_gain_db, "range in dB, as [from, to]");
  v("clipping_normalize", clipping_normalize, "normalize to full scale first");
  v("clipping_oversampling", clipping_oversampling, "oversampling factor; null: none", at_least(1));
  v("clipping_prob_hard", clipping_prob_hard, "fraction of hard clipping", between(0, 1));
  v("clipping_prob", clipping_prob, "fraction of the cuts", between(0, 1));
}

void CutBatchesOptions::visit_unused(OptionVisitor& v) {
  v("use_lhotse", use_lhotse, "no effect: always on");
  v("cuda_expandable_segments", cuda_expandable_segments, "no effect: set PYTORCH_CUDA_ALLOC_CONF");
  v("pretokenize", pretokenize, "no effect: tokens are counted if an option needs them");
  v("prompt_format", prompt_format, kText);
  v("use_multimodal_sampling", use_multimodal_sampling, kText);
  v("audio_locator_tag", audio_locator_tag, kText);
  v("token_equivalent_duration", token_equivalent_duration, kText);
  v("batch_tokens", batch_tokens, kText);
  v("quadratic_factor", quadratic_factor, kText);
  v("cut_text_into_windows_tokens", cut_text_into_windows_tokens, kText);
  v("min_tokens", min_tokens, kText);
  v("max_tokens", max_tokens, kText);
  v("measure_total_length", measure_total_length, kText);
  v("min_tpt", min_tpt, kText);
  v("max_tpt", max_tpt, kText);
}

DatasetBlock read_dataset_block(const Config& block, const std::string& path) {
  DatasetBlock out{block, {}, {}};
  std::vector<std::string> known = names_of_sets(block);
  known.emplace_back("name");  // names the component
  OptionReader(block, path, out.findings, known).read(out.options);
  return out;
}

std::vector<std::string> names_of_sets(const Config& block) {
  const Config* multi = block.find("multi_config");
  if (multi == nullptr || !multi->is_scalar() || multi->text() != "true") return {};
  const OptionTable table = list_options<DatasetOptions>();
  std::vector<std::string> names;
  for (const auto& [key, node] : block.entries()) {
    const bool is_option = std::any_of(table.begin(), table.end(),
                                       [&name = key](const auto& row) { return row.name == name; });
    if (node.is_map() && !is_option) names.push_back(key);
  }
  return names;
}

std::vector<std::string> option_notes(const CutBatchesOptions& options, const std::string& path) {
  std::vector<std::string> notes;
  const auto note = [&](bool is_given, const char* name, const char* reason) {
    if (is_given) notes.push_back(fmt::format("ignored: {}.{}: {}", path, name, reason));
  };
  const char* const text = "text examples are not read, and cuts are measured in seconds";
  const CutBatchesOptions& o = options;
  note(!o.cuda_expandable_segments, "cuda_expandable_segments", "set PYTORCH_CUDA_ALLOC_CONF");
  note(!o.concurrent_bucketing, "concurrent_bucketing", "batches are always planned in advance");
  note(!o.use_lhotse, "use_lhotse", "there is no other loader");
  note(!o.pretokenize, "pretokenize", "tokens are counted if an option needs them");
  note(o.prompt_format.has_value(), "prompt_format", text);
  note(o.use_multimodal_sampling, "use_multimodal_sampling", text);
  note(o.token_equivalent_duration.has_value(), "token_equivalent_duration", text);
  note(o.batch_tokens.has_value(), "batch_tokens", text);
  note(o.quadratic_factor.has_value(), "quadratic_factor", text);
  note(o.cut_text_into_windows_tokens.has_value(), "cut_text_into_windows_tokens", text);
  note(o.min_tokens.has_value(), "min_tokens", text);
  note(o.max_tokens.has_value(), "max_tokens", text);
  note(o.min_tpt > 0, "min_tpt", text);
  note(!o.max_tpt.is_null(), "max_tpt", text);
  return notes;
}

}  // namespace s2s::data
