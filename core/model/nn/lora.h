#pragma once
// Low-rank adaptation of linear layers: y = W x + b + (alpha / r) * B A dropout(x), where only A
// [r, in] and B [out, r] train. Names and files are those of Hugging Face's PEFT, so adapters can
// be exchanged with it. Source: Hu et al. 2021 (arXiv:2106.09685); peft tuners/lora.

#include <string>
#include <vector>

#include "config/run_blocks.h"
#include "s2s/kinds/model.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// What model.lora adapts, and the names of its tensors in checkpoints.
struct AdaptedPart {
  Block* root = nullptr;  // null: the model takes no adapters
  NameMap names;
};

/// The language model inside `model`, or the model itself if it takes adapters.
AdaptedPart adapted_part(Model& model);

/// Adds an adapter to every Linear below `root` whose path ends in one of the target modules (whole
/// segments, `*` matches one), or that target_pattern matches (nn/lora_targets.h). lm_head and
/// codecs get none. Call it before `root` is allocated. A gets random initial values and B zeros,
/// so the outputs of the model do not change. Returns the targets that match nothing. Errors:
/// [lora/targets] when none matches, and for modules of other kinds; [lora/pattern].
std::vector<std::string> add_lora(Block& root, const LoraOptions& options);

/// Adds every adapter's update to its weight, which then computes alone. A second call does
/// nothing.
void merge_lora(Block& root);

/// Adds rows for the adapters of a plan's modules. For a colwise weight, B is split and A is not.
/// For a rowwise weight, A is split and B is not.
void add_lora_rows(Block& model, ShardPlan& plan);

/// Returns the adapters' tensors by their PEFT names ("base_model.model.<module>.lora_A.weight").
/// `names` maps modules to their names in checkpoints.
TensorMap lora_tensors(Block& root, const NameMap& names);

/// Writes adapter_config.json and adapter_model.safetensors, which PEFT's from_pretrained reads.
/// `base_model`: the folder of the adapted model, or "". Errors: [io/write].
void write_adapter(const std::string& folder, const TensorMap& tensors, const LoraOptions& options,
                   const std::string& base_model = "");

/// Returns the tensors of adapter_model.safetensors as initial values of the adapters below `root`,
/// which need not be allocated yet. Tensors are read on demand. adapter_config.json must have the
/// same r and lora_alpha. Tensors of other targets are reported as missing or unexpected. Errors:
/// [lora/adapter], [weights/unreadable], [weights/json], [weights/mismatch], [weights/not-finite].
std::unique_ptr<WeightSource> stored_adapter(const std::string& folder, Block& root,
                                             const NameMap& names, const LoraOptions& options);

}  // namespace s2s
