// The duplex model with a speech decoder, and with connectors that read encoder layers, under
// layouts against one process.

#include <doctest/doctest.h>

#include "parallel/equality.h"
#include "parallel/trained_duplex.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// Zero at first, and so small after ten steps that the last digits are rounding.
constexpr const char* kPositionBiases = "perception.encoder.layers.0.self_attn.pos_bias";

std::vector<TrainedModel> models_with_options() {
  const std::pair<std::string, std::string> decoder = {"duplex_s2s", "duplex_s2s_speech_decoder"};
  const std::pair<std::string, std::string> layers = {R"("n_layers": 1)", R"("n_layers": 3)"};
  const std::string speech = std::string(", ") + kSpeechDecoder;
  std::string unconditional = speech;
  unconditional.replace(unconditional.find("1e-9"), 4, "1.0");
  const std::vector<std::string> frozen = {kPositionBiases};
  TrainedModel sum =
      duplex("a sum of layers", false,
             R"(, "modality_adapter": {"type": "weighted_sum", "target_layer_ids": [0, 1]})",
             frozen, layers);
  // Rounding of three encoder layers: 3e-6 to 1.2e-5, in which layout depends on the processor's
  // kernels.
  sum.tolerances = 3;
  return {
      sum,
      duplex("speech decoder", false, speech, frozen, decoder),
      duplex("speech decoder without its condition", true, unconditional, frozen, decoder),
      duplex("two inner layers", false,
             R"(, "modality_adapter": {"type": "multi_layer_projection", "target_layer_ids": [0, 1],
                "include_final_output": false, "rote": {"enabled": true}})",
             frozen, layers),
      duplex("pooled frames", false,
             R"(, "modality_adapter": {"type": "frame_pooling", "frame_pooling": {"factor": 1}})",
             frozen),
      duplex("Q-Former", false,
             R"(, "modality_adapter": {"type": "qformer", "target_layer_ids": [0], "qformer":
                {"prompt_size": 9, "num_attention_heads": 4, "intermediate_size": 12,
                 "dropout": 0.0}})",
             frozen, layers),
      duplex("stacked frames", false,
             R"(, "modality_adapter": {"type": "frame_stacking", "frame_stacking": {"factor": 1}})",
             frozen),
  };
}

}  // namespace

TEST_CASE("speech decoders and connectors train alike under layouts and in one process") {
  BuiltPlugins plugins;
  load(plugins);
  load_duplex(plugins);
  const std::string tensor = R"("name": "model_parallel", "tensor_parallel_size": 2)";
  const std::vector<RunLayout> layouts = {
      layout("fsdp 2", R"("name": "fsdp")", 2, 2),
      layout("tp + sp 2", tensor, 2, 1),
      layout("fsdp 2 x tp 2", tensor, 4, 2),
  };
  for (const TrainedModel& trained : models_with_options()) {
    Reference reference(plugins.registries(), trained);
    for (const RunLayout& layout : layouts) {
      CAPTURE(trained.name);
      CAPTURE(layout.name);
      CHECK(difference_of(plugins.registries(), trained, layout, reference) <
            trained.tolerances * kEqualityTolerance);
    }
  }
}
