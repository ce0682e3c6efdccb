#pragma once
// Options of a data set's block: those of the source `cuts`, and those that say how cuts become
// batches. The latter are NeMo's LhotseDataLoadingConfig, with its names and defaults, and our own.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s::data {

/// How batches are loaded and given to the ranks. A set of a `multi_config` block has none of them.
struct CutsSourceOptions {
  bool repeat = true;
  std::optional<int64_t> sample_rate;
  std::optional<std::string> codes_field;
  int64_t num_workers = 1;
  int64_t prefetch_batches = 4;
  bool pin_memory = true;
  bool cache_audio = false;
  bool check_files = true;
  int64_t skip_bad = 0;
  double longest_cut = 3600;
  bool allow_no_turns = false;
  bool allow_changed_data = false;
  std::string on_restart = "continue";

  void visit(OptionVisitor& v);
};

/// Options of `concatenate`: several cuts of the set in one row, one after the other.
struct PackOptions {
  double max_duration = 0;
  double gap = 0;
  double max_gap = 0;
  int64_t open_sequences = 16;

  void visit(OptionVisitor& v);
};

/// Which cuts are read, and how they become batches.
struct CutBatchesOptions {
  // Input.
  Config input_cfg, cuts_path, shar_path, manifest_filepath, tarred_audio_filepaths, extra_fields;
  bool skip_missing_manifest_entries = false;
  bool tarred_random_access = false;
  std::string text_field = "text";
  std::string lang_field = "lang";
  bool metadata_only = false;
  bool force_finite = false;
  bool force_map_dataset = false;
  bool force_iterable_dataset = false;
  std::optional<int64_t> slice_length, max_open_streams;
  Config reweight_temperature;
  std::optional<int64_t> limit;

  // Order.
  bool shuffle = false;
  std::optional<int64_t> shuffle_buffer_size = 10000;
  Config seed, shard_seed;

  // Batches.
  std::optional<int64_t> batch_size;
  std::optional<double> batch_duration, quadratic_duration;
  bool drop_last = false;
  bool use_bucketing = false;
  std::vector<int64_t> bucket_batch_size;
  int64_t num_buckets = 30;
  int64_t num_cuts_for_bins_estimate = 10000;
  Config bucket_duration_bins;
  int64_t bucket_buffer_size = 10000;
  bool concurrent_bucketing = true;
  bool bucketing_2d_strict_mode = true;
  PackOptions concatenate;
  bool multi_config = false;
  std::string sampler_fusion = "round_robin";
  Config sampler_weights;

  // Filters.
  std::optional<double> min_duration = -1;
  std::optional<double> max_duration;
  double min_tps = -1;
  Config max_tps;
  std::optional<double> max_cer;
  std::optional<double> min_context_speaker_similarity = -1;
  std::string keep = "pass";

  // Changes to cuts.
  Config channel_selector, noise_path;
  std::vector<double> noise_snr = {10, 20};
  double noise_mix_prob = 0.5;
  bool perturb_speed = false;
  std::optional<double> truncate_duration;
  std::string truncate_offset_type = "random";
  std::optional<double> cut_into_windows_duration, cut_into_windows_hop;
  bool keep_excessive_supervisions = true;
  std::optional<double> pad_min_duration;
  std::string pad_direction = "right";

  // Changes to batches.
  bool concatenate_samples = false;
  double concatenate_gap_seconds = 0.1;
  double concatenate_duration_factor = 1.0;
  bool concatenate_merge_supervisions = true;
  std::optional<double> db_norm = -25;
  bool rir_enabled = false;
  std::optional<std::string> rir_path;
  double rir_prob = 0.5;
  bool lowpass_enabled = false;
  std::vector<double> lowpass_frequencies_interval = {3500, 8000};
  double lowpass_prob = 0.5;
  bool compression_enabled = false;
  double compression_prob = 0.5;
  std::vector<double> compression_level_interval = {0.8, 0.99};
  std::vector<std::string> compression_codecs = {"opus"};
  std::vector<double> compression_codec_weights;
  bool compression_enable_for_custom_fields = false;
  bool clipping_enabled = false;
  std::vector<double> clipping_gain_db = {0, 24};
  bool clipping_normalize = true;
  std::optional<int64_t> clipping_oversampling = 2;
  double clipping_prob_hard = 0.5;
  double clipping_prob = 0.5;

  // Accepted for NeMo's configurations, but without effect.
  bool use_lhotse = true;
  bool cuda_expandable_segments = true;
  bool pretokenize = true;
  std::optional<std::string> prompt_format, audio_locator_tag;
  bool use_multimodal_sampling = false;
  std::optional<double> token_equivalent_duration, quadratic_factor;
  std::optional<int64_t> batch_tokens, cut_text_into_windows_tokens, min_tokens, max_tokens;
  bool measure_total_length = true;
  double min_tpt = -1;
  Config max_tpt;

  void visit(OptionVisitor& v);

 private:
  void visit_input(OptionVisitor& v);
  void visit_order(OptionVisitor& v);
  void visit_batches(OptionVisitor& v);
  void visit_filters(OptionVisitor& v);
  void visit_cut_changes(OptionVisitor& v);
  void visit_batch_changes(OptionVisitor& v);
  void visit_effects(OptionVisitor& v);
  void visit_unused(OptionVisitor& v);
};

/// All options of a block.
struct DatasetOptions {
  CutsSourceOptions source;
  CutBatchesOptions batches;

  void visit(OptionVisitor& v) {
    source.visit(v);
    batches.visit(v);
  }
};

/// A data set's block after reading.
struct DatasetBlock {
  Config config;
  DatasetOptions options;
  Findings findings;  // mistakes in the options; opening the set adds others and throws
};
DatasetBlock read_dataset_block(const Config& block, const std::string& path);

/// Names of the sets of a `multi_config` block: its keys with maps as values that are not options.
/// Empty unless the block says `multi_config: true`.
std::vector<std::string> names_of_sets(const Config& block);

/// Says which of the given options have no effect here, and why.
std::vector<std::string> option_notes(const CutBatchesOptions& options, const std::string& path);

}  // namespace s2s::data
