#include "model_change.h"

#include <algorithm>
#include <array>

#include "speech_recognizer_errors.h"

namespace s2s::speech_recognizer {
namespace {

constexpr const char* kLocal = "rel_pos_local_attn";
constexpr std::array<const char*, 3> kModels = {"rel_pos", kLocal, "abs_pos"};

std::string list_text(const Config& list) {
  std::string text;
  for (const Config& item : list.items()) {
    text += (text.empty() ? "" : ", ") + (item.is_list() ? list_text(item) : item.text());
  }
  return "[" + text + "]";
}

bool is_window(const Config& context) {
  const auto& items = context.items();
  if (items.size() != 2 || items[0].is_list() || items[1].is_list()) return false;
  const int64_t left = items[0].as_int(""), right = items[1].as_int("");
  return left >= 0 && right >= 0 && left + right > 0;
}

}  // namespace

void change_attention(const ConformerChange& change, const std::string& place, Config& encoder) {
  if (!change.is_set()) return;
  const std::string block = place + ".model_change.conformer.";
  const Config* const name = encoder.find("name");
  if (name != nullptr && name->text() != "fastconformer") {
    throw bad_model_change(place + ".model_change.conformer", "the encoder is " + name->text(),
                           "a model with a fastconformer");
  }
  Config& options = encoder["encoder"];
  if (change.self_attention_model) {
    const std::string& model = *change.self_attention_model;
    if (std::find(kModels.begin(), kModels.end(), model) == kModels.end()) {
      throw bad_model_change(block + "self_attention_model", model,
                             "rel_pos, rel_pos_local_attn or abs_pos");
    }
    options["self_attention_model"] = Config::scalar(model, true);
  }
  if (!change.att_context_size.empty()) {
    std::vector<Config> context;
    for (const int64_t frames : change.att_context_size) {
      context.push_back(Config::scalar(std::to_string(frames)));
    }
    options["att_context_size"] = Config::list(context);
    if (context.size() != 2) {
      throw bad_model_change(block + "att_context_size", list_text(options["att_context_size"]),
                             "two numbers [left, right] in frames");
    }
  }
  options["global_tokens"] = Config::scalar("0");
  options["global_attn_separate"] = Config::scalar("false");
  const Config* const model = options.find("self_attention_model");
  const Config* const context = options.find("att_context_size");
  if (model == nullptr || model->text() != kLocal || context == nullptr) return;
  if (is_window(*context)) return;
  throw bad_model_change(block + "att_context_size",
                         context->is_null() ? "null" : list_text(*context),
                         "[left, right] in frames for rel_pos_local_attn, such as [128, 128], "
                         "neither below 0 and one above");
}

}  // namespace s2s::speech_recognizer
