#include "s2s_run/score/prediction_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "base/foreign_json.h"
#include "files/line_reader.h"
#include "s2s_run/score/score_errors.h"

namespace s2s::run {
namespace {

using nlohmann::json;

/// What reports of s2s write (heard_model: what a recognizer heard), then NeMo's and others' keys.
const std::vector<std::string> kHypothesisKeys = {"heard_model", "text_channel", "hypothesis",
                                                  "pred_text",   "prediction",   "predicted_text",
                                                  "generated",   "response"};
const std::vector<std::string> kReferenceKeys = {"reference", "target", "answer", "label", "text"};

std::string keys_of(const json& line) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.items()) {
    if (value.is_string()) keys.push_back(key);
  }
  return keys.empty() ? "no texts" : fmt::format("{}", fmt::join(keys, ", "));
}

/// The key to read, from the first line.
std::string chosen_key(const json& line, const std::string& asked,
                       const std::vector<std::string>& known, const std::string& path,
                       const std::string& kind) {
  const std::vector<std::string> tried = asked.empty() ? known : std::vector{asked};
  for (const std::string& key : tried) {
    if (line.contains(key) && line.at(key).is_string()) return key;
  }
  throw score_errors::no_text(path, 1, kind, fmt::format("{}", fmt::join(tried, ", ")),
                              keys_of(line));
}

std::string text_at(const json& line, const std::string& key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string id_of(const json& line) {
  for (const char* const key : {"id", "cut_id", "utterance_id", "audio_filepath"}) {
    const auto found = line.find(key);
    if (found != line.end()) return found->is_string() ? found->get<std::string>() : found->dump();
  }
  return "";
}

}  // namespace

Predictions read_predictions(const std::string& path, const std::string& hypothesis_key,
                             const std::string& reference_key) {
  if (!std::filesystem::exists(path)) throw score_errors::no_file(path);
  Predictions out{path, hypothesis_key, reference_key, {}};
  data::LineReader reader(path);
  std::string text;
  while (reader.next(text)) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const json line = try_parse_foreign_json(text);
    if (!line.is_object()) {
      throw score_errors::no_object(path, reader.line(),
                                    line.is_discarded() ? "not valid JSON" : "not an object");
    }
    if (out.examples.empty()) {
      out.hypothesis_key = chosen_key(line, hypothesis_key, kHypothesisKeys, path, "hypothesis");
      out.reference_key = chosen_key(line, reference_key, kReferenceKeys, path, "reference");
    }
    out.examples.push_back(
        {id_of(line), text_at(line, out.hypothesis_key), text_at(line, out.reference_key)});
  }
  if (out.examples.empty()) throw score_errors::no_examples(path);
  return out;
}

Predictions in_order_of(const Predictions& first, Predictions other) {
  if (first.examples.size() != other.examples.size()) {
    throw score_errors::other_examples(
        first.path, other.path,
        fmt::format("{} and {} examples", first.examples.size(), other.examples.size()));
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < other.examples.size(); ++i) places[other.examples[i].id] = i;
  if (places.size() != other.examples.size()) return other;  // without ids: by lines
  std::vector<Prediction> ordered;
  for (const Prediction& example : first.examples) {
    const auto found = places.find(example.id);
    if (found == places.end()) {
      throw score_errors::other_examples(first.path, other.path,
                                         "id '" + example.id + "' is in one only");
    }
    ordered.push_back(other.examples[found->second]);
  }
  other.examples = std::move(ordered);
  return other;
}

}  // namespace s2s::run
