#pragma once
// NeMo's keys that give a model initial values from a checkpoint of another model:
// model.pretrained_perception_from_s2s, model.pretrained_s2s_model, model.init_from_checkpoint.
// Source: NeMo, speechlm2/parts/pretrained.py (maybe_load_pretrained_models).

#include <memory>
#include <vector>

#include "base/warnings.h"
#include "config/run_blocks.h"
#include "s2s/kinds/model.h"

namespace s2s {

/// Returns a source of values for each key that is set, in NeMo's order: a later one takes
/// precedence. Each contains the checkpoint's tensors whose names and shapes match. The source of
/// the first key contains only those of the perception. `where`: the configuration, for locations
/// in messages. Warns of the model's other tensors.
/// Errors: [weights/unreadable], [weights/format], [weights/refused] with the key;
/// [checkpoint/nothing-fits] when no tensor fits.
std::vector<std::unique_ptr<WeightSource>> pretrained_parts(Model& model, const ModelBlock& block,
                                                            const Config& where,
                                                            Warnings& warnings);

}  // namespace s2s
