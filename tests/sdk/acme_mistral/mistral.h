#pragma once
// Mistral 7B's family, as a stranger to s2s writes it: Llama's decoder in which every layer sees
// the newest positions only (Jiang et al. 2023, arXiv 2310.06825).

#include <memory>

#include "s2s/decoder_options.h"

namespace acme_mistral {

struct Options : s2s::DecoderOptions {
  s2s::WindowOptions windows;
  Options() { windows.sliding_window = 4096; }
  void visit(s2s::OptionVisitor& v) {
    DecoderOptions::visit(v);
    windows.visit(v);
  }
};

class Mistral : public s2s::Decoder {
 public:
  using Decoder::Decoder;
  s2s::ShardPlan configure_model(const s2s::MeshShape& mesh) const override;
};

/// Errors: those of reading options; [llm/layer-types].
std::unique_ptr<s2s::Backbone> create(const s2s::Config& options, const s2s::BuildContext& context);

/// From the config.json of a Mistral folder. Errors: [weights/config].
s2s::Config translate(const s2s::Config& foreign);

inline constexpr char kTiny[] = R"({"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "sliding_window": 3})";

}  // namespace acme_mistral
