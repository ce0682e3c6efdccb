// Qwen 2, 2.5 and 3 (dense) in Hugging Face's format.

#include "qwen_options.h"
#include "s2s/nn/decoder_family.h"
#include "s2s/plugin.h"

namespace s2s::qwen {
namespace {

/// Source: NeMo collections/common/prompts/qwen.py.
std::vector<PromptFormat> chat_formats() {
  const auto turn = [](const std::string& role) {
    return RoleTemplate{role, "<|im_start|>" + role + "\n", "<|im_end|>\n"};
  };
  PromptFormat qwen{"qwen", {turn("user"), turn("assistant")}};
  qwen.answer_begin = "<|im_start|>assistant\n";
  PromptFormat qwen3 = qwen;
  qwen3.name = "qwen3";
  qwen3.roles.insert(qwen3.roles.begin(), turn("system"));
  qwen3.counts_last_only = qwen3.has_thoughts = true;
  return {qwen, qwen3};
}

struct Qwen : DecoderFamily {
  using Options = QwenOptions;
  static constexpr const char* kName = "qwen";
  static constexpr const char* kSummary =
      "Qwen 2, 2.5 and 3 decoders, from Hugging Face folders or from random weights";
  static constexpr const char* kTiny = R"({"vocab_size": 50, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16})";
  static std::vector<PublishedWeights> weights() {
    return {{"Qwen/Qwen2.5-0.5B", "Apache-2.0"}, {"Qwen/Qwen3-0.6B", "Apache-2.0"}};
  }
  static constexpr auto defaults_for = qwen::defaults_for;
  static constexpr auto spec_of = qwen::spec_of;
  static constexpr auto from_hf = qwen::from_hf;
  static constexpr auto to_hf = qwen::to_hf;
  static constexpr auto prompt_formats = chat_formats;
};

}  // namespace
}  // namespace s2s::qwen

S2S_PLUGIN("qwen", "0.1.0", "Apache-2.0", "llm:qwen\nmodel_type:qwen2\nmodel_type:qwen3") {
  registrar.add(s2s::decoder_component<s2s::qwen::Qwen>());
}
