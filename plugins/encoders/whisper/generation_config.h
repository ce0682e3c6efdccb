#pragma once
// What generation_config.json says about how Whisper writes texts.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/token_sampling.h"
#include "whisper_options.h"

namespace s2s::whisper {

/// Ids and limits, under the names of generation_config.json.
struct GenerationConfig {
  int64_t decoder_start_token_id = 0;
  int64_t eos_token_id = 0;
  int64_t no_timestamps_token_id = 0;
  int64_t vocab_size = 0;            // of config.json
  int64_t max_target_positions = 0;  // of config.json
  int64_t median_filter_width = 7;   // of config.json
  /// A window is written with the first one and, while the thresholds ask for it, with the next.
  std::vector<double> temperatures = {0};
  std::optional<double> compression_ratio_threshold, logprob_threshold;
  std::optional<double> no_speech_threshold;  // only with logprob_threshold
  SamplingOptions sampling;                   // above a temperature of 0
  bool condition_on_prev_tokens = false;
  bool prompts_all_segments = false;  // prompt_condition_type
  std::vector<int64_t> prompt_ids;    // what an earlier window is said to have written
  int64_t prev_sot_token_id = -1;     // -1: none
  int64_t max_length = 0;             // `limit` says of what
  std::optional<int64_t> max_new_tokens;
  std::optional<int64_t> max_initial_timestamp_index;
  std::vector<int64_t> suppress_tokens, begin_suppress_tokens;
  std::vector<std::pair<int64_t, int64_t>> alignment_heads;  // layer, head
  std::map<std::string, int64_t> lang_to_id, task_to_id;
  std::vector<int64_t> forced;  // from position 1 on; -1: a language that is detected
  bool is_multilingual = true;
  bool return_timestamps = false;
  std::string language, task;  // "": not given

  /// The id of <|0.00|>; greater ids are later times.
  int64_t first_timestamp() const { return no_timestamps_token_id + 1; }
  bool is_timestamp(int64_t id) const { return id >= first_timestamp(); }
  /// The most ids of a clip's next window, the prompt included. transformers adds the prompt's
  /// length to max_length before each window; `length` is that sum, and begins as max_length.
  int64_t limit(int64_t& length, int64_t prompt_length) const;
  /// What comes before the text. -1 at position 1: the language that is detected.
  /// Source: transformers generation_whisper._retrieve_init_tokens.
  std::vector<int64_t> prompt(bool with_timestamps) const;
  /// What comes before that: the end of what earlier windows wrote if the window is conditioned on
  /// it, else prompt_ids. Null: there are no earlier segments.
  /// Source: transformers generation_whisper._prepare_decoder_input_ids.
  std::vector<int64_t> earlier(const std::vector<int64_t>* written) const;
  /// The most ids of `earlier`.
  int64_t longest_earlier() const;
};

/// Reads config.json with generation_config.json as its block `generation_config`. `place`: of the
/// folder. Those of `options` take precedence.
/// Errors: [weights/config], [scorer/language], [scorer/task], [scorer/fallback],
/// [scorer/prompt].
GenerationConfig read_generation(const Config& model, const std::string& place,
                                 const WhisperScorerOptions& options);

}  // namespace s2s::whisper
