#include "generation_config.h"

#include <algorithm>

#include "languages.h"
#include "s2s/nn/weights.h"
#include "whisper_errors.h"

namespace s2s::whisper {
namespace {

const char* const kBlock = "generation_config";

std::string text_of_key(const Config* node) {
  if (node == nullptr || node->is_null()) return "null";
  return node->is_scalar() ? node->text() : "a block";
}

/// Reads keys of one of the two files.
class KeyReader {
 public:
  KeyReader(const Config& keys, std::string place) : keys_(keys), place_(std::move(place)) {}

  const Config* find(const std::string& key) const {
    const Config* const node = keys_.find(key);
    return node == nullptr || node->is_null() ? nullptr : node;
  }
  /// A number from 0 on; refuses a missing one unless there is a `fallback`.
  int64_t number(const std::string& key, std::optional<int64_t> fallback = {}) const {
    const Config* const node = find(key);
    if (node == nullptr && fallback) return *fallback;
    if (node == nullptr || !node->is_scalar()) refuse(key, "a number");
    const int64_t value = node->as_int(place_ + "." + key);
    if (value < 0) refuse(key, "a number from 0 on");
    return value;
  }
  std::optional<int64_t> number_or_none(const std::string& key) const {
    return find(key) == nullptr ? std::nullopt : std::optional(number(key));
  }
  std::vector<int64_t> numbers(const std::string& key) const {
    const Config* const node = find(key);
    if (node == nullptr) return {};
    if (!node->is_list()) refuse(key, "a list of ids");
    std::vector<int64_t> numbers;
    for (const Config& item : node->items()) numbers.push_back(item.as_int(place_ + "." + key));
    return numbers;
  }
  std::map<std::string, int64_t> ids(const std::string& key) const {
    std::map<std::string, int64_t> ids;
    const Config* const node = find(key);
    if (node == nullptr) return ids;
    for (const auto& [name, id] : node->entries()) ids[name] = id.as_int(place_ + "." + key);
    return ids;
  }
  /// Pairs of numbers; the second one may be null, which is -1.
  std::vector<std::pair<int64_t, int64_t>> pairs(const std::string& key) const {
    const Config* const node = find(key);
    if (node == nullptr) return {};
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (const Config& item : node->items()) {
      if (!item.is_list() || item.items().size() != 2) refuse(key, "a list of pairs");
      const auto part = [&](size_t i) {
        const Config& one = item.items()[i];
        return one.is_null() ? -1 : one.as_int(place_ + "." + key);
      };
      pairs.emplace_back(part(0), part(1));
    }
    return pairs;
  }
  std::optional<double> real_or_none(const std::string& key) const {
    const Config* const node = find(key);
    return node == nullptr ? std::nullopt : std::optional(node->as_double(place_ + "." + key));
  }
  bool flag(const std::string& key, bool fallback) const {
    const Config* const node = find(key);
    return node == nullptr ? fallback : node->as_bool(place_ + "." + key);
  }
  std::string text(const std::string& key) const {
    return find(key) == nullptr ? "" : text_of_key(find(key));
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const {
    throw_unsupported_config(place_, key, text_of_key(keys_.find(key)), expected);
  }

 private:
  const Config& keys_;
  std::string place_;
};

/// Settings of `generate` that change what is written, and the values that change nothing.
void refuse_other_searches(const KeyReader& reader) {
  static const std::map<std::string, std::vector<std::string>> kPlain = {
      {"num_beams", {"1"}},
      {"repetition_penalty", {"1.0", "1"}},
      {"no_repeat_ngram_size", {"0"}},
      {"min_length", {"0"}},
      {"min_new_tokens", {"0"}},
      {"bad_words_ids", {}},
      {"sequence_bias", {}},
      {"guidance_scale", {"1.0", "1"}},
      {"forced_bos_token_id", {}},
      {"forced_eos_token_id", {}},
      {"exponential_decay_length_penalty", {}},
      {"penalty_alpha", {}},
      {"stop_strings", {}},
      {"typical_p", {"1.0", "1"}},
      {"min_p", {}},
      {"top_h", {}},
      {"epsilon_cutoff", {"0.0", "0"}},
      {"eta_cutoff", {"0.0", "0"}},
      {"renormalize_logits", {"false"}},
  };
  for (const auto& [key, harmless] : kPlain) {
    const std::string text = reader.text(key);
    if (text.empty() || std::count(harmless.begin(), harmless.end(), text) != 0) continue;
    reader.refuse(key, harmless.empty() ? "null" : harmless.front());
  }
}

/// The ids that old folders force from position 1 on.
std::vector<int64_t> forced_ids(const KeyReader& generation, const KeyReader& model) {
  const KeyReader& from = generation.find("forced_decoder_ids") != nullptr ? generation : model;
  std::vector<int64_t> forced;
  for (const auto& [position, id] : from.pairs("forced_decoder_ids")) {
    if (position != static_cast<int64_t>(forced.size()) + 1 || id < -1) {
      from.refuse("forced_decoder_ids", "pairs of a position, from 1 on, and an id");
    }
    forced.push_back(id);
  }
  return forced;
}

void check_alignment_heads(const GenerationConfig& config, const KeyReader& generation,
                           const KeyReader& model) {
  const int64_t layers = model.number("decoder_layers", 4);
  const int64_t heads = model.number("decoder_attention_heads", 6);
  for (const auto& [layer, head] : config.alignment_heads) {
    if (layer < 0 || layer >= layers || head < 0 || head >= heads) {
      generation.refuse("alignment_heads", "pairs of a layer below " + std::to_string(layers) +
                                               " and a head below " + std::to_string(heads));
    }
  }
}

void check_ids(const GenerationConfig& config, const KeyReader& generation) {
  const auto check = [&](const char* key, int64_t id) {
    if (id < 0 || id >= config.vocab_size) {
      generation.refuse(key, "an id below the vocab_size " + std::to_string(config.vocab_size));
    }
  };
  check("decoder_start_token_id", config.decoder_start_token_id);
  check("eos_token_id", config.eos_token_id);
  check("no_timestamps_token_id", config.no_timestamps_token_id);
  for (const auto& [name, id] : config.lang_to_id) check("lang_to_id", id);
  for (const auto& [name, id] : config.task_to_id) check("task_to_id", id);
  for (const int64_t id : config.forced) check("forced_decoder_ids", std::max<int64_t>(id, 0));
  if (config.first_timestamp() == config.vocab_size) {
    generation.refuse("no_timestamps_token_id", "an id that timestamps follow in the vocabulary");
  }
}

/// "<|de|>" for a language of the options or the file.
std::string token_of_language(const GenerationConfig& config, const std::string& place,
                              const std::string& language) {
  if (config.lang_to_id.contains(language)) return language;
  const std::string token = "<|" + language_code(language) + "|>";
  if (config.lang_to_id.contains(token)) return token;
  std::string known;
  for (const auto& [name, id] : config.lang_to_id) {
    const bool is_token = name.size() > 4 && name.starts_with("<|") && name.ends_with("|>");
    known += (known.empty() ? "" : ", ") + (is_token ? name.substr(2, name.size() - 4) : name);
  }
  throw unknown_language(place, language, known);
}

void choose_language_and_task(GenerationConfig& config, const std::string& place) {
  if (!config.is_multilingual && (!config.language.empty() || !config.task.empty())) {
    throw only_english(place, config.language.empty() ? "task" : "language",
                       config.language.empty() ? config.task : config.language);
  }
  if (!config.language.empty()) {
    config.language = token_of_language(config, place, config.language);
  }
  if (!config.task.empty() && !config.task_to_id.contains(config.task)) {
    std::string known;
    for (const auto& [name, id] : config.task_to_id) known += (known.empty() ? "" : ", ") + name;
    throw unknown_task(place, config.task, known);
  }
}

/// Thresholds that would change nothing are refused.
void read_thresholds(const KeyReader& keys, const std::string& place,
                     const WhisperScorerOptions& options, GenerationConfig& config) {
  const auto read = [&](const char* key, const std::optional<double>& option) {
    return option ? option : keys.real_or_none(key);
  };
  config.no_speech_threshold = read("no_speech_threshold", options.no_speech_threshold);
  config.logprob_threshold = read("logprob_threshold", options.logprob_threshold);
  config.compression_ratio_threshold =
      read("compression_ratio_threshold", options.compression_ratio_threshold);
  const bool has_fallback = config.temperatures.size() > 1;
  if (config.no_speech_threshold && !config.logprob_threshold) {
    keys.refuse("logprob_threshold",
                "a number, as no_speech_threshold has one; transformers compares both (0.6 and -1 "
                "are usual)");
  }
  if (config.logprob_threshold && !config.no_speech_threshold && !has_fallback) {
    keys.refuse("no_speech_threshold",
                "a number, as logprob_threshold has one (0.6 and -1 are usual), or several "
                "temperatures in the scorer's option temperature");
  }
  if (config.compression_ratio_threshold && !has_fallback) {
    throw no_fallback(place, "compression_ratio_threshold", *config.compression_ratio_threshold);
  }
}

void read_sampling(const KeyReader& keys, const std::string& place,
                   const WhisperScorerOptions& options, GenerationConfig& config) {
  if (options.temperature.empty()) throw no_temperature(place);
  config.temperatures = options.temperature;
  config.sampling.top_k = options.top_k.value_or(keys.number("top_k", 50));
  config.sampling.top_p = options.top_p.value_or(keys.real_or_none("top_p").value_or(1));
  config.sampling.seed = options.seed;
}

/// The id that old folders do not name: the last but one of those that are suppressed.
int64_t start_of_earlier(const KeyReader& keys, const GenerationConfig& config) {
  const std::vector<int64_t>& suppressed = config.suppress_tokens;
  const int64_t fallback = suppressed.size() < 2 ? -1 : suppressed[suppressed.size() - 2];
  return keys.number_or_none("prev_sot_token_id").value_or(fallback);
}

void read_earlier(const KeyReader& keys, const std::string& place,
                  const WhisperScorerOptions& options, GenerationConfig& config) {
  config.condition_on_prev_tokens =
      options.condition_on_prev_tokens || keys.flag("condition_on_prev_tokens", false);
  config.prompts_all_segments = options.prompt_condition_type == "all-segments";
  config.prompt_ids = options.prompt_ids;
  config.prev_sot_token_id = start_of_earlier(keys, config);
  if (config.prompts_all_segments && !config.condition_on_prev_tokens) {
    throw prompt_condition_error(place);
  }
  for (const int64_t id : config.prompt_ids) {
    if (id < 0 || id >= config.vocab_size) throw prompt_id_error(place, id, config.vocab_size);
  }
}

/// The model's positions are enough for what comes before a text, and for the text.
void check_positions(const KeyReader& top, const std::string& place,
                     const GenerationConfig& config) {
  const auto longest = static_cast<int64_t>(config.prompt(true).size()) + 1;
  const int64_t text = config.max_new_tokens.value_or(1);
  if (longest + text > config.max_target_positions) {
    top.refuse("max_target_positions",
               "room for " + std::to_string(longest) + " ids of the prompt, and for the text");
  }
  const int64_t room = config.max_target_positions - longest - text;
  if (config.longest_earlier() > room) {
    throw prompt_length_error(place, config.longest_earlier(), room);
  }
}

}  // namespace

GenerationConfig read_generation(const Config& model, const std::string& place,
                                 const WhisperScorerOptions& options) {
  const Config none = Config::map();
  const Config* const block = model.find(kBlock);
  const KeyReader top(model, place + "/config.json");
  const KeyReader keys(block == nullptr ? none : *block, place + "/generation_config.json");
  refuse_other_searches(keys);
  GenerationConfig config;
  config.vocab_size = top.number("vocab_size", 51865);
  config.max_target_positions = top.number("max_target_positions", 448);
  config.median_filter_width = top.number("median_filter_width", 7);
  if (config.median_filter_width % 2 == 0) top.refuse("median_filter_width", "an odd number");
  config.decoder_start_token_id = keys.number("decoder_start_token_id");
  config.eos_token_id = keys.number("eos_token_id");
  config.no_timestamps_token_id = keys.number("no_timestamps_token_id");
  config.max_new_tokens = keys.number_or_none("max_new_tokens");
  config.max_length = keys.number("max_length", config.max_new_tokens);
  config.max_initial_timestamp_index = keys.number_or_none("max_initial_timestamp_index");
  config.suppress_tokens = keys.numbers("suppress_tokens");
  config.begin_suppress_tokens = keys.numbers("begin_suppress_tokens");
  config.alignment_heads = keys.pairs("alignment_heads");
  check_alignment_heads(config, keys, top);
  config.lang_to_id = keys.ids("lang_to_id");
  config.task_to_id = keys.ids("task_to_id");
  config.is_multilingual = keys.flag("is_multilingual", true);
  config.return_timestamps = options.return_timestamps || keys.flag("return_timestamps", false);
  config.language = options.language.value_or(keys.text("language"));
  config.task = options.task.value_or(keys.text("task"));
  read_sampling(keys, place, options, config);
  read_thresholds(keys, place, options, config);
  read_earlier(keys, place, options, config);
  if (config.language.empty() && config.task.empty()) config.forced = forced_ids(keys, top);
  check_ids(config, keys);
  choose_language_and_task(config, place);
  check_positions(top, place, config);
  return config;
}

int64_t GenerationConfig::limit(int64_t& length, int64_t prompt_length) const {
  if (max_new_tokens) return prompt_length + *max_new_tokens;
  length = std::min(length + std::min(max_target_positions / 2 - 1, prompt_length),
                    max_target_positions);
  return length;
}

int64_t GenerationConfig::longest_earlier() const {
  const auto size = static_cast<int64_t>(prompt_ids.size());
  if (!condition_on_prev_tokens) return size;
  const int64_t begin = prompts_all_segments ? std::max<int64_t>(size, 1) : 1;
  return std::max(size, begin + max_target_positions / 2 - 1);
}

std::vector<int64_t> GenerationConfig::earlier(const std::vector<int64_t>* written) const {
  if (written == nullptr) return prompt_ids;
  std::vector<int64_t> ids;
  if (prompts_all_segments && !prompt_ids.empty()) {
    ids = prompt_ids;
  } else if (prev_sot_token_id >= 0) {
    ids = {prev_sot_token_id};
  }
  const auto size = static_cast<int64_t>(written->size());
  const int64_t first = std::max<int64_t>(size - (max_target_positions / 2 - 1), 0);
  ids.insert(ids.end(), written->begin() + first, written->end());
  return ids;
}

std::vector<int64_t> GenerationConfig::prompt(bool with_timestamps) const {
  std::vector<int64_t> ids = {decoder_start_token_id};
  ids.insert(ids.end(), forced.begin(), forced.end());
  const bool is_open = ids.size() == 1 || ids[1] == -1;
  if (!language.empty() || (is_open && !lang_to_id.empty())) {
    const int64_t id = language.empty() ? -1 : lang_to_id.at(language);
    if (ids.size() == 1) ids.push_back(id);
    ids[1] = id;
  } else {
    ids.erase(std::remove(ids.begin(), ids.end(), -1), ids.end());
  }
  if (!task.empty()) {
    ids.push_back(task_to_id.at(task));
  } else if (!language.empty() && task_to_id.contains("transcribe")) {
    ids.push_back(task_to_id.at("transcribe"));
  }
  if (!with_timestamps && ids.back() != no_timestamps_token_id) {
    ids.push_back(no_timestamps_token_id);
  } else if (with_timestamps && ids.back() == no_timestamps_token_id) {
    ids.pop_back();
  }
  return ids;
}

}  // namespace s2s::whisper
