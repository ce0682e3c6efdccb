#pragma once
// What lies at a path: a checkpoint of ours, a Hugging Face folder, a NeMo archive, a weight file.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s2s/nn/weights.h"

namespace s2s::run {

enum class CheckpointKind { kOwn, kHuggingFace, kAdapter, kNemo, kFile };

struct CheckpointFacts {
  CheckpointKind kind = CheckpointKind::kFile;
  /// Where its weights are, as WeightFiles::open takes it.
  std::string weights;
  /// Lines to print, in order: "step" -> "24".
  std::vector<std::pair<std::string, std::string>> lines;
};

/// Which of these `path` is. Errors: [weights/unreadable].
CheckpointKind checkpoint_kind(const std::string& path);
/// "a checkpoint of s2s-run", ...
std::string kind_text(CheckpointKind kind);

/// What the files beside the weights say. Those that cannot be read are left out: `verify` names
/// them. Errors: those of checkpoint_kind.
CheckpointFacts describe_checkpoint(const std::string& path);

}  // namespace s2s::run
