#pragma once
// Detects the kind of checkpoint at a path: one of s2s, a Hugging Face folder, a NeMo archive or a
// weight file.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s2s/nn/weights.h"

namespace s2s::run {

enum class CheckpointKind { kOwn, kHuggingFace, kAdapter, kNemo, kFile };

struct CheckpointFacts {
  CheckpointKind kind = CheckpointKind::kFile;
  /// Path of its weights, for WeightFiles::open.
  std::string weights;
  /// Lines to print, in order: "step" -> "24".
  std::vector<std::pair<std::string, std::string>> lines;
};

/// The kind of checkpoint at `path`. Errors: [weights/unreadable].
CheckpointKind checkpoint_kind(const std::string& path);
/// "a checkpoint of s2s-run", ...
std::string kind_text(CheckpointKind kind);

/// Reads facts from the small files of a checkpoint. Skips unreadable files, which `verify`
/// reports. Errors: those of checkpoint_kind.
CheckpointFacts describe_checkpoint(const std::string& path);

}  // namespace s2s::run
