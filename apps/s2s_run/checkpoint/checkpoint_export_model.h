#pragma once
// Exports of models that have a class of their own in transformers, and what all exports share.

#include <cstdint>
#include <optional>
#include <string>

#include "run/run_program.h"
#include "s2s/config.h"
#include "s2s/nn/block.h"
#include "s2s/registry.h"
#include "weights/weight_shards.h"

namespace s2s::run {

struct ExportArguments {
  std::string checkpoint, output, dtype;
  uint64_t max_shard_bytes = ShardSettings().max_shard_bytes;
  bool adapter = false;
  std::string base_model;  // of adapters; "": found or written
  bool nemo = false;
  bool force = false;
};

/// The dtype that --dtype names. Errors: those of parse_dtype.
std::optional<at::ScalarType> float_type(const ExportArguments& arguments);

/// True for a parameter of model.lora.
bool is_of_adapter(const std::string& name);

/// Writes the weights, config.json (`foreign` with their dtype), and copies of the tokenizer's
/// files and of the generation defaults. Errors: [io/write], [checkpoint/export].
void write_model_folder(const ExportArguments& arguments, Config foreign, const TensorMap& tensors,
                        const Registries& registries);

/// Exports a model that is no language model inside another: the whole model for its class in
/// transformers, or its adapters for PEFT. Parts of the class that it does not contain are copied
/// from the folder that model.path names. Errors: [checkpoint/export], those of reading the
/// checkpoint and of its configuration.
void export_whole_model(const ExportArguments& arguments, const RunProgram& program);

}  // namespace s2s::run
