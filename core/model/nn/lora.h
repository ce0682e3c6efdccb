#pragma once
// Low-rank adaptation of linear layers: y = W x + b + (alpha / r) * B A dropout(x), where only A
// [r, in] and B [out, r] train. Names and files are those of Hugging Face's PEFT, so that adapters
// go from one to the other. Source: Hu et al. 2021 (arXiv:2106.09685); peft tuners/lora.

#include <string>
#include <vector>

#include "config/run_blocks.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// Gives every Linear below `root` whose path ends in one of the target modules (whole segments,
/// `*` matches one) an adapter; lm_head is left alone. Do it before `root` gets memory: A gets
/// random initial values and B zeros, so that the model computes what it did. Returns the targets
/// that match nothing. Errors: [lora/targets] when none matches.
std::vector<std::string> add_lora(Block& root, const LoraOptions& options);

/// Adds every adapter's update to its weight, which then computes alone. A second call does
/// nothing.
void merge_lora(Block& root);

/// Rows for the adapters of a plan's modules: beside a weight that is split by rows (colwise) B is
/// split and A whole, beside one that is split by columns (rowwise) A is split and B whole.
void add_lora_rows(Block& model, ShardPlan& plan);

/// The adapters' tensors under PEFT's names ("base_model.model.<module>.lora_A.weight"); `names`
/// gives the modules their names in checkpoints.
TensorMap lora_tensors(Block& root, const NameMap& names);

/// Writes adapter_config.json and adapter_model.safetensors, which PEFT's from_pretrained reads.
/// `base_model`: the folder of the model that the adapters are for, or "". Errors: [io/write].
void write_adapter(const std::string& folder, const TensorMap& tensors, const LoraOptions& options,
                   const std::string& base_model = "");

/// The tensors of adapter_model.safetensors as initial values of the adapters below `root`, which
/// may have no memory yet. They are read when they are needed. adapter_config.json must have the
/// same r and lora_alpha. Other targets are reported as missing or unexpected tensors. Errors:
/// [lora/adapter], [weights/unreadable], [weights/json], [weights/mismatch], [weights/not-finite].
std::unique_ptr<WeightSource> stored_adapter(const std::string& folder, Block& root,
                                             const NameMap& names, const LoraOptions& options);

}  // namespace s2s
