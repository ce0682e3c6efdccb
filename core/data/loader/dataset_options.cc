#include "loader/dataset_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace s2s::data {
namespace {

constexpr const char* kText = "no use here: text examples are not read";

}  // namespace

void CutsSourceOptions::visit(OptionVisitor& v) {
  v("repeat", repeat, "start over at the end; false: one pass (validation)");
  v("sample_rate", sample_rate,
    "rate of the frame arithmetic in Hz (NeMo's loader resamples to it); null: the recording's",
    at_least(1));
  v("num_workers", num_workers,
    "threads that make, decode, resample and pad cuts ahead; 0: load when asked", between(0, 256));
  v("prefetch_batches", prefetch_batches, "batches that are loaded ahead", between(1, 1024));
  v("pin_memory", pin_memory,
    "batches in page-locked memory, which a GPU copies by itself; without a GPU no difference");
  v("cache_audio", cache_audio, "keep all audio in memory after its first use");
  v("check_files", check_files,
    "look for the audio files of the first 20000 cuts at the start, of the others when read");
  v("skip_bad", skip_bad,
    "most bad cuts (unreadable, wrong length, no turns, ...) that a data rank leaves out and "
    "lists; one more stops the run",
    at_least(0));
  v("longest_cut", longest_cut,
    "a cut of more seconds is bad: the row that it is in a batch is in memory as a whole",
    at_least(0.001));
  v("allow_no_turns", allow_no_turns, "accept cuts in which nobody speaks");
  v("allow_changed_data", allow_changed_data,
    "resume although cuts or options differ: the epoch starts anew");
  v("on_restart", on_restart,
    "continue: a resumed run reads what an uninterrupted one would have; reshuffle: it begins "
    "the epoch anew with other seeds",
    one_of({"continue", "reshuffle"}));
}

void PackOptions::visit(OptionVisitor& v) {
  v("max_duration", max_duration, "longest sequence in s, whole frames; 0: cuts stay alone",
    at_least(0));
  v("gap", gap, "silence between two cuts in s, whole frames", at_least(0));
  v("max_gap", max_gap, "drawn evenly from gap to max_gap when that is longer", at_least(0));
  v("open_sequences", open_sequences, "sequences that are filled at the same time", at_least(1));
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
    "Lhotse Shar: a directory, a list of such or of [directory, weight], or shards by field");
  v("manifest_filepath", manifest_filepath, "NeMo's manifest: a path, a pattern or a list");
  v("tarred_audio_filepaths", tarred_audio_filepaths, "the tars of NeMo's manifest, alike");
  v("extra_fields", extra_fields, "of NeMo's manifest: [{type: text_iter, name, path}]");
  v("skip_missing_manifest_entries", skip_missing_manifest_entries,
    "tar members that NeMo's manifest lacks are left out");
  v("tarred_random_access", tarred_random_access, "old name of skip_missing_manifest_entries");
  v("text_field", text_field, "NeMo's manifest: key of the text");
  v("lang_field", lang_field, "NeMo's manifest: key of the language");
  v("metadata_only", metadata_only, "one pass over what manifests say; audio cannot be loaded");
  v("force_finite", force_finite, "one pass, also of mixed and of tarred sources");
  v("force_map_dataset", force_map_dataset, "tarred and other sources may be mixed: passes");
  v("force_iterable_dataset", force_iterable_dataset,
    "tarred and other sources may be mixed: endless");
  v("slice_length", slice_length, "so many consecutive cuts of each shard, from a drawn one on",
    at_least(1));
  v("max_open_streams", max_open_streams, "endless mix of shards, so many at a time", at_least(1));
  v("reweight_temperature", reweight_temperature,
    "power of the weights of input_cfg: a number, or one for each level; below 1: more even");
  v("limit", limit, "only the first cuts of a pass", at_least(1));
}

void CutBatchesOptions::visit_order(OptionVisitor& v) {
  v("shuffle", shuffle, "another order in each epoch; false: the order of the source");
  v("shuffle_buffer_size", shuffle_buffer_size, "cuts from which the next one is drawn",
    at_least(1));
  v("seed", seed, "a whole number, or randomized or trng (another at every start); null: the run's",
    "seed");
  v("shard_seed", shard_seed,
    "of the order of shards, of mixing, shuffling and augmentation, alike; null: seed (NeMo: "
    "trng)",
    "seed");
}

void CutBatchesOptions::visit_batches(OptionVisitor& v) {
  v("batch_size", batch_size, "most rows in a batch", at_least(1));
  v("batch_duration", batch_duration, "most audio in a batch in s: count x longest", at_least(0));
  v("quadratic_duration", quadratic_duration,
    "s; a cut of d counts d + d * d / this in batch_duration", at_least(0));
  v("drop_last", drop_last, "leave out an epoch's last batch when it is not full");
  v("use_bucketing", use_bucketing, "batches of cuts of like length");
  v("bucket_batch_size", bucket_batch_size, "batch size of each bucket", at_least(1));
  v("num_buckets", num_buckets, "when bucket_duration_bins says nothing", at_least(2));
  v("num_cuts_for_bins_estimate", num_cuts_for_bins_estimate,
    "first cuts, whose durations give the bins", at_least(2));
  v("bucket_duration_bins", bucket_duration_bins,
    "upper bounds in s, or of [s, tokens]; null: from min_duration to max_duration, or estimated");
  v("bucket_buffer_size", bucket_buffer_size,
    "cuts in all buckets together, and shuffle_buffer_size more (as NeMo)", at_least(1));
  v("concurrent_bucketing", concurrent_bucketing, "no use here: batches are always planned ahead");
  v("bucketing_2d_strict_mode", bucketing_2d_strict_mode,
    "2-D bins: leave out what has too many tokens for its duration's buckets");
  v("concatenate", concatenate, "several cuts in one sequence");
  v("multi_config", multi_config, "the keys that are maps are sets with options of their own");
  v("sampler_fusion", sampler_fusion, "multi_config: whose batch is next",
    one_of({"round_robin", "randomized_round_robin", "zip"}));
  v("sampler_weights", sampler_weights, "randomized_round_robin: weight of each set");
}

void CutBatchesOptions::visit_filters(OptionVisitor& v) {
  v("min_duration", min_duration, "shorter cuts are left out, in s");
  v("max_duration", max_duration, "longer cuts are left out, in s; null: none");
  v("min_tps", min_tps, "cuts with fewer tokens per second are left out");
  v("max_tps", max_tps, "cuts with more tokens per second; or a list, one for each 2-D bucket");
  v("max_cer", max_cer, "cuts whose first turn has a higher custom field cer are left out");
  v("min_context_speaker_similarity", min_context_speaker_similarity,
    "cuts whose first turn has a lower context_speaker_similarity are left out");
  v("keep", keep, "cuts with another custom field validation_status are left out");
}

void CutBatchesOptions::visit_cut_changes(OptionVisitor& v) {
  v("channel_selector", channel_selector,
    "of recordings with several channels: a number, or the custom field that has it");
  v("noise_path", noise_path, "what is mixed in: a manifest, or a map with the keys of input");
  v("noise_snr", noise_snr, "dB, from and to");
  v("noise_mix_prob", noise_mix_prob, "share of the cuts", between(0, 1));
  v("perturb_speed", perturb_speed, "each cut as it is, and at 0.9 and 1.1 times its speed");
  v("truncate_duration", truncate_duration, "s; of longer cuts one piece of this length",
    at_least(0));
  v("truncate_offset_type", truncate_offset_type, "which piece",
    one_of({"random", "start", "end"}));
  v("cut_into_windows_duration", cut_into_windows_duration, "s; all pieces of this length",
    at_least(0));
  v("cut_into_windows_hop", cut_into_windows_hop, "s from piece to piece; null: no overlap",
    at_least(0));
  v("keep_excessive_supervisions", keep_excessive_supervisions,
    "keep turns that reach out of their piece");
  v("pad_min_duration", pad_min_duration, "s; shorter cuts are padded to it", at_least(0));
  v("pad_direction", pad_direction, "where silence is added",
    one_of({"right", "left", "both", "random"}));
}

void CutBatchesOptions::visit_batch_changes(OptionVisitor& v) {
  v("concatenate_samples", concatenate_samples,
    "join cuts of a batch to rows as long as its longest");
  v("concatenate_gap_seconds", concatenate_gap_seconds, "s of silence between joined cuts",
    at_least(0));
  v("concatenate_duration_factor", concatenate_duration_factor,
    "rows may be so many times the longest", at_least(0));
  v("concatenate_merge_supervisions", concatenate_merge_supervisions,
    "one turn for all turns of a row; false for dialogues");
  v("db_norm", db_norm, "loudness of joined cuts; null: as they are");
  v("rir_enabled", rir_enabled, "rooms: cuts with the echo of a drawn impulse response");
  v("rir_path", rir_path, "recordings of impulse responses, .jsonl; null: made up");
  v("rir_prob", rir_prob, "share of the cuts", between(0, 1));
  v("lowpass_enabled", lowpass_enabled, "cuts with less than their band");
  v("lowpass_frequencies_interval", lowpass_frequencies_interval, "Hz, from and to", at_least(1));
  v("lowpass_prob", lowpass_prob, "share of the cuts", between(0, 1));
}

void CutBatchesOptions::visit_effects(OptionVisitor& v) {
  v("compression_enabled", compression_enabled, "cuts as lossy codecs leave them");
  v("compression_prob", compression_prob, "share of the cuts", between(0, 1));
  v("compression_level_interval", compression_level_interval, "0 best to 1 smallest, from and to",
    between(0, 1));
  v("compression_codecs", compression_codecs, "drawn from",
    one_of({"opus", "mp3", "vorbis", "gsm"}));
  v("compression_codec_weights", compression_codec_weights, "of the codecs; empty: alike",
    at_least(0));
  v("compression_enable_for_custom_fields", compression_enable_for_custom_fields,
    "the agent's audio, too");
  v("clipping_enabled", clipping_enabled, "cuts that are too loud for their range");
  v("clipping_gain_db", clipping_gain_db, "dB, from and to");
  v("clipping_normalize", clipping_normalize, "to full scale before");
  v("clipping_oversampling", clipping_oversampling, "factor; null: none", at_least(1));
  v("clipping_prob_hard", clipping_prob_hard, "share of hard clipping", between(0, 1));
  v("clipping_prob", clipping_prob, "share of the cuts", between(0, 1));
}

void CutBatchesOptions::visit_unused(OptionVisitor& v) {
  v("use_lhotse", use_lhotse, "no use here: always");
  v("cuda_expandable_segments", cuda_expandable_segments,
    "no use here: PYTORCH_CUDA_ALLOC_CONF says it");
  v("pretokenize", pretokenize, "no use here: tokens are counted when an option needs them");
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
  known.emplace_back("name");  // which component it is
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
    if (is_given)
      notes.push_back(fmt::format("without effect here: {}.{}: {}", path, name, reason));
  };
  const char* const text = "text examples are not read, and cuts are measured in seconds";
  const CutBatchesOptions& o = options;
  note(!o.cuda_expandable_segments, "cuda_expandable_segments", "PYTORCH_CUDA_ALLOC_CONF says it");
  note(!o.concurrent_bucketing, "concurrent_bucketing", "batches are always planned ahead");
  note(!o.use_lhotse, "use_lhotse", "there is no other loader");
  note(!o.pretokenize, "pretokenize", "tokens are counted when an option needs them");
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
