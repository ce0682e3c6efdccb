#pragma once
// The family `COMPONENT_NAME`: what tells it from other decoders. The decoder itself is s2s's own
// (s2s/decoder.h); whatever it lacks is written here as a Block.

#include <memory>

#include "s2s/decoder_options.h"

namespace PLUGIN_NAME {

/// Sizes and switches under Hugging Face's names; own ones are added in `visit`.
struct Options : s2s::DecoderOptions {
  void visit(s2s::OptionVisitor& v) { DecoderOptions::visit(v); }
};

class Family : public s2s::Decoder {
 public:
  using Decoder::Decoder;
  /// How the weights are cut for tensor and sequence parallelism, and what is gathered together.
  s2s::ShardPlan configure_model(const s2s::MeshShape& mesh) const override;
};

/// From the options at model.llm. Errors: those of reading them.
std::unique_ptr<s2s::Backbone> create(const s2s::Config& options, const s2s::BuildContext& context);

/// From the config.json of a Hugging Face folder. Errors: [weights/config] for whatever would
/// change the numbers and is not implemented.
s2s::Config translate(const s2s::Config& foreign);

/// Options of an instance that is built in a moment; `s2s-run plugin check` and test.cc build it.
inline constexpr char kTiny[] = R"({"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2})";

}  // namespace PLUGIN_NAME
