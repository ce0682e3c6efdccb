#pragma once
// Small duplex speech-to-text models, built through the host, and batches for them.

#include "plugins/duplex_s2s/duplex_fixture.h"

namespace s2s::test {

inline constexpr const char* kUserText = R"("predict_user_text": true)";
inline constexpr const char* kForcedTurns =
    R"("predict_user_text": true, "force_turn_taking": true, "force_turn_taking_threshold": 3,
       "force_turn_taking_pad_window": 2)";

/// The options of a small model, with more keys.
inline std::string stt_json(const std::string& keys, bool is_tied = false) {
  std::string text = std::string("{") + kParts + (keys.empty() ? std::string() : ", " + keys) + "}";
  text.replace(text.find("TIED"), 4, is_tied ? "true" : "false");
  text.replace(text.find("duplex_s2s"), 10, "duplex_stt");
  return text;
}

struct SttFixture {
  BuiltPlugins plugins;
  TableTokenizer tokenizer;
  Config data = parse_json(kData, "data");
  bool is_tied = false;  // the language model's head

  std::unique_ptr<Model> model(const std::string& keys = "", bool with_tokenizer = true) {
    ModelContext context;
    context.path = "model";
    context.data = &data;
    context.tokenizer = with_tokenizer ? &tokenizer : nullptr;
    auto model = plugins.create<Model>(parse_json(stt_json(keys, is_tied), "test.json"), context);
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  }
  std::string id_of_making(const std::string& keys, bool with_tokenizer = true) {
    try {
      model(keys, with_tokenizer);
    } catch (const Error& error) {
      return error.id();
    }
    return "no error";
  }
};

/// A batch of text only, [2, 6].
inline Batch text_batch() {
  Batch batch;
  batch.text_BT = at::tensor({1, 30, 40, 50, 60, 2, 1, 70, 80, 2, 0, 0}, at::kLong).view({2, 6});
  batch.text_labels_BT = at::where(batch.text_BT.eq(0), -100, batch.text_BT);
  batch.ids = {"text", "text"};
  return batch;
}

}  // namespace s2s::test
