// Gemma 1 and 2, and the text model of Gemma 3, in Hugging Face's format.

#include "gemma_options.h"
#include "s2s/nn/decoder_family.h"
#include "s2s/plugin.h"

namespace s2s::gemma {
namespace {

struct Gemma : DecoderFamily {
  using Options = GemmaOptions;
  static constexpr const char* kName = "gemma";
  static constexpr const char* kSummary =
      "Gemma 1, 2 and 3 (text) decoders, from Hugging Face folders or random weights";
  static constexpr const char* kTiny = R"({"vocab_size": 50, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "sliding_window": 3, "sliding_window_pattern": 2})";
  static std::vector<PublishedWeights> weights() {
    return {{"google/gemma-2-2b", "Gemma terms of use"},
            {"google/gemma-3-1b-pt", "Gemma terms of use"}};
  }
  static constexpr auto defaults_for = gemma::defaults_for;
  static constexpr auto spec_of = gemma::spec_of;
  static constexpr auto from_hf = gemma::from_hf;
  static constexpr auto to_hf = gemma::to_hf;
  /// Source: NeMo collections/common/prompts/gemma.py.
  static std::vector<PromptFormat> prompt_formats() {
    PromptFormat format{"gemma",
                        {{"user", "<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n"},
                         {"assistant", "", "<end_of_turn>\n"}}};
    format.has_bos = format.has_eos = true;
    return {format};
  }
};

}  // namespace
}  // namespace s2s::gemma

S2S_PLUGIN("gemma", "0.1.0", "Apache-2.0",
           "llm:gemma\nmodel_type:gemma2\nmodel_type:gemma3\nmodel_type:gemma3_text") {
  registrar.add(s2s::decoder_component<s2s::gemma::Gemma>());
}
