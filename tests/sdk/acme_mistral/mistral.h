#pragma once
// Mistral 7B's family, as a stranger to s2s writes it: Llama's decoder in which every layer sees
// the newest positions only (Jiang et al. 2023, arXiv 2310.06825).

#include <string>
#include <vector>

#include "s2s/data/prompt_format.h"
#include "s2s/nn/decoder_family.h"

namespace acme_mistral {

struct Options : s2s::DecoderOptions {
  s2s::WindowOptions windows;
  Options() { windows.sliding_window = 4096; }
  void visit(s2s::OptionVisitor& v) {
    DecoderOptions::visit(v);
    windows.visit(v);
  }
};

struct Mistral : s2s::DecoderFamily {
  using Options = acme_mistral::Options;
  static constexpr const char* kName = "acme.mistral";
  static constexpr const char* kSummary =
      "Mistral's decoder: every layer sees the newest positions only";
  static constexpr const char* kTiny = R"({"vocab_size": 50, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "sliding_window": 3})";

  /// Errors: those of decoder_spec; [llm/layer-types].
  static s2s::DecoderSpec spec_of(const Options& options, const std::string& path);
  /// From the config.json of a Mistral folder. Errors: [weights/config].
  static s2s::Config from_hf(const s2s::Config& foreign);
  static std::vector<s2s::TensorRow> tensor_rows(const s2s::DecoderSpec& spec);
  /// "acme.mistral": Mistral's instructions, for models that answer with text.
  static std::vector<s2s::PromptFormat> prompt_formats();
};

}  // namespace acme_mistral
