#pragma once
// The family `COMPONENT_NAME`: what tells it from other decoders. The decoder itself is s2s's own
// (s2s/nn/decoder.h); whatever it lacks is written here as a Block.

#include <string>
#include <vector>

#include "s2s/nn/decoder_family.h"

namespace PLUGIN_NAME {

/// Sizes and switches under Hugging Face's names; own ones are added in `visit`.
struct Options : s2s::DecoderOptions {
  void visit(s2s::OptionVisitor& v) { DecoderOptions::visit(v); }
};

struct Family : s2s::DecoderFamily {
  using Options = PLUGIN_NAME::Options;
  static constexpr const char* kName = "COMPONENT_NAME";
  static constexpr const char* kSummary = "a decoder of one's own";
  /// Options of an instance that is built in a moment; `s2s-run plugin check` and test.cc build it.
  static constexpr const char* kTiny = R"({"vocab_size": 50, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2})";

  /// What the options say. `path` names them in messages ("model.llm").
  static s2s::DecoderSpec spec_of(const Options& options, const std::string& path);
  /// From the config.json of a Hugging Face folder. Errors: [weights/config] for whatever would
  /// change the numbers and is not implemented.
  static s2s::Config from_hf(const s2s::Config& foreign);
  /// How the weights are cut for tensor and sequence parallelism.
  static std::vector<s2s::TensorRow> tensor_rows(const s2s::DecoderSpec& spec);
};

}  // namespace PLUGIN_NAME
