#include "decoding.h"

#include <algorithm>

#include "speech_recognizer_errors.h"

namespace s2s::speech_recognizer {
namespace {

constexpr const char* kGreedy = "greedy, greedy_batch";
// NeMo writes it in every file, and computes the others without it.
constexpr const char* kOwnSwitch = "confidence_cfg.preserve_word_confidence";

bool is_listed(const std::string& known, const std::string& strategy) {
  return (", " + known + ",").find(", " + strategy + ",") != std::string::npos;
}

void set_path(Config& node, const std::string& path, const Config& value) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos) {
    node[path] = value;
  } else {
    set_path(node[path.substr(0, dot)], path.substr(dot + 1), value);
  }
}

/// Language models, and words that are preferred, of a search.
void warn_of_models(const Config& section, const std::string& place, const std::string& block,
                    const std::function<void(const std::string&)>& warn) {
  for (const char* key : {"ngram_lm_model", "kenlm_path", "boosting_tree.model_path",
                          "boosting_tree.key_phrases_file", "boosting_tree.key_phrases_list"}) {
    const std::string path = block + "." + key;
    const Config* const model = section.find_path(path);
    if (model == nullptr || model->is_null() || (model->is_list() && model->items().empty())) {
      continue;
    }
    warn(searches_without_model(place + "." + path, model->is_scalar() ? model->text() : "a list"));
  }
}

}  // namespace

std::string strategies_of(const RecognizerConfig& config, DecoderKind kind) {
  const std::string greedy = kGreedy;
  if (kind == DecoderKind::kCtc) return greedy + ", beam_batch";
  return config.transducer.is_there() ? greedy + ", beam, malsd_batch, maes" : greedy;
}

Config with_decoding_of(const Config& model, const std::string& place, DecoderKind kind,
                        const std::string& known, const Config& node,
                        const std::function<void(const std::string&)>& warn) {
  const bool is_hybrid = model.find("aux_ctc") != nullptr;
  const std::string path = kind == DecoderKind::kCtc && is_hybrid ? "aux_ctc.decoding" : "decoding";
  const Config* const section = model.find_path(path);
  if (section == nullptr || !section->is_map()) return node;
  Config merged = node;
  Config& decoding = merged["decoding"];
  for (const OptionRow& row : list_options<DecodingOptions>()) {
    const Config* const value = section->find_path(row.name);
    const Config* const own = decoding.find_path(row.name);
    const bool is_set = own != nullptr && !own->is_null();
    if (is_set || row.name == kOwnSwitch || value == nullptr || !value->is_scalar()) continue;
    set_path(decoding, row.name, *value);
  }
  Config* const strategy = decoding.find("strategy");
  if (strategy == nullptr || strategy->is_null()) return merged;
  const Config* const own = node.find_path("decoding.strategy");
  const bool is_own = own != nullptr && !own->is_null();
  if (!is_own && !is_listed(known, strategy->text())) {
    if (warn) warn(decodes_greedily(place + "." + path + ".strategy", strategy->text(), known));
    *strategy = Config::scalar("greedy_batch", true);
  }
  const std::string block = strategy->text().starts_with("greedy") ? "greedy" : "beam";
  if (warn) warn_of_models(*section, place + "." + path, block, warn);
  return merged;
}

void require_strategy(const DecodingOptions& decoding, const std::string& known,
                      const std::string& place) {
  if (is_listed(known, decoding.strategy)) return;
  throw unknown_strategy(place + ".decoding.strategy", decoding.strategy, known);
}

}  // namespace s2s::speech_recognizer
