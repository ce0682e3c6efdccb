#pragma once
// The family `COMPONENT_NAME`: its differences to other decoders. The decoder itself is part of s2s
// (s2s/nn/decoder.h); write additional layers here as Blocks.

#include <string>

#include "s2s/nn/decoder_family.h"

namespace PLUGIN_NAME {

/// Options under Hugging Face's names; add your own in `visit`.
struct Options : s2s::DecoderOptions {
  void visit(s2s::OptionVisitor& v) { DecoderOptions::visit(v); }
};

/// A family with blocks of its own also has `tensor_rows`: their part of the sharding plan.
struct Family : s2s::DecoderFamily {
  using Options = PLUGIN_NAME::Options;
  static constexpr const char* kName = "COMPONENT_NAME";
  static constexpr const char* kSummary = "a decoder family";
  /// Options of the tiny instance that `s2s-run plugin check` and test.cc build.
  static constexpr const char* kTiny = R"({"vocab_size": 50, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2})";

  /// Converts options to a spec. `path` names them in messages ("model.llm").
  static s2s::DecoderSpec spec_of(const Options& options, const std::string& path);
  /// Converts the config.json of a Hugging Face folder. Errors: [weights/config] for keys that
  /// change the result and are not implemented.
  static s2s::Config from_hf(const s2s::Config& foreign);
};

}  // namespace PLUGIN_NAME
