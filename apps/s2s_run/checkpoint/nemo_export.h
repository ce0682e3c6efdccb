#pragma once
// Writes a checkpoint as the folder that NeMo's classes write for the hub (HFHubMixin): config.json
// and model.safetensors, llm_backbone/config.json, and the tokenizer's files.

#include <cstdint>
#include <memory>
#include <string>

#include "run/run_program.h"
#include "s2s/config.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::run {

struct NemoExportArguments {
  std::string checkpoint, output;
  uint64_t max_shard_bytes = 0;
};

/// A model of a checkpoint, and its configuration for NeMo. Construction reads and checks; `write`
/// writes.
class NemoExport {
 public:
  /// Errors: those of the configuration, [checkpoint/export] where NeMo has no counterpart.
  NemoExport(NemoExportArguments arguments, const RunProgram& program);
  ~NemoExport();
  NemoExport(const NemoExport&) = delete;
  NemoExport& operator=(const NemoExport&) = delete;
  /// Errors: [io/write], those of reading the checkpoint.
  void write() const;

 private:
  struct Parts;
  NemoExportArguments arguments_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace s2s::run
