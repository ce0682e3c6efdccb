#pragma once
// The classes of NeMo speechlm2, and how their checkpoints are told apart. A checkpoint does not
// name its class (config.json of the hub's folder has the same `architectures` for all), so the
// names of its tensors decide.

#include <string>

#include "s2s/nn/weights.h"

namespace s2s::run {

struct NemoClass {
  const char* name;  // DuplexSTTModel
  const char* type;  // model.type that reads it; null: none does
};

/// The class with this name, or null: speechlm2 has none.
const NemoClass* nemo_class_named(const std::string& name);

/// Throws [config/nemo-class]: the configuration at `place` is that of a class that no model.type
/// reads.
[[noreturn]] void throw_no_nemo_class(const std::string& place, const std::string& name);

/// The class that wrote a checkpoint with these tensors, or null: it is of no class of speechlm2.
const NemoClass* nemo_class_of(const WeightFiles& files);

/// Errors: [checkpoint/class] when the checkpoint is of another class than `model_type`, of a class
/// that no model.type reads, or a .nemo archive (`target`: of its model_config.yaml, or "") of
/// another collection. `place`: the source, for the message.
void check_nemo_class(const std::string& place, const WeightFiles& files, const std::string& target,
                      const std::string& model_type);

}  // namespace s2s::run
