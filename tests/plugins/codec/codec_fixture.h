#pragma once
// A small codec that is trained, built through the host, and batches for it.

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "s2s/batch.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/weights.h"

// Shape letters: B batch, S samples, T frames, K codebooks.

namespace s2s::test {

/// keys: JSON pairs that replace those of the component's tiny options; null removes one.
inline std::unique_ptr<Model> make_codec_model(const Registries& registries,
                                               const std::string& keys = "") {
  Config node = parse_json(registries.get<Model>("codec").tiny, "model");
  node["name"] = Config::scalar("codec");
  const Config changed = parse_json("{" + keys + "}", "model");
  for (const auto& [key, value] : changed.entries()) node[key] = value;
  ModelContext context;
  context.path = "model";
  auto model = registries.create<Model>(node, context);
  model->materialize(at::kCPU, at::kFloat, 3);
  return model;
}

/// Two rows of the agent's audio, one of which has a turn, and is shorter.
inline Batch codec_batch(int64_t number, int64_t samples = 1000) {
  at::manual_seed(static_cast<uint64_t>(number));
  Batch batch;
  batch.ids = {"cut " + std::to_string(2 * number), "cut " + std::to_string(2 * number + 1)};
  batch.target_audio_BS = at::randn({2, samples}) * 0.3;
  batch.target_audio_lens_B = at::tensor({samples, samples - 300}, at::kLong);
  batch.target_audio_BS[1].slice(0, samples - 300).zero_();
  batch.turns = {{{true, 0.2, 0.5, "a"}, {false, 0.6, 0.8, "b"}}, {}};
  batch.target_texts = {"a", ""};
  return batch;
}

}  // namespace s2s::test
