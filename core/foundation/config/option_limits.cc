#include "config/option_limits.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace s2s {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kLayers = 10'000;
constexpr double kWidth = 1 << 20;
constexpr double kTaps = 1 << 16;
constexpr double kPadding = 4096;  // the least length of a row
constexpr double kVocabulary = 1 << 24;
constexpr double kPositions = 1 << 27;
constexpr double kHertz = 768'000;
constexpr double kThreads = 1024;
constexpr double kCount = 1e12;

struct NameKind {
  double most;
  std::initializer_list<std::string_view> parts;  // of names
};

/// The first kind that matches a part of the name counts.
const NameKind kKinds[] = {
    {kNoLimit, {"seed"}},
    {kCount, {"token_id"}},
    {kWidth, {"delay", "advance"}},
    {kThreads, {"workers", "threads"}},
    {kHertz, {"sample_rate", "sampling_rate", "max_freq"}},
    {kLayers, {"layer", "num_blocks", "num_iter", "num_predictions"}},
    {kVocabulary, {"vocab"}},
    {kPadding, {"pad_to"}},
    {kTaps,
     {"n_fft", "n_window", "hop_length", "kernel_size", "feat", "num_mels", "num_quantizers",
      "num_codebooks", "num_semantic", "expert"}},
    {kPositions, {"position", "sliding_window", "seq_len", "max_len", "pad_window"}},
    {kCount,
     {"step", "restarts", "epoch", "batches", "tokens", "estimate", "limit", "skip", "buffer",
      "every", "slice", "patience", "max_symbols", "count", "eos", "bos", "pad", "tag", "_id"}},
};

double limit_of(std::string_view name) {
  for (const NameKind& kind : kKinds) {
    const auto occurs = [name](std::string_view part) {
      return name.find(part) != std::string_view::npos;
    };
    if (std::any_of(kind.parts.begin(), kind.parts.end(), occurs)) return kind.most;
  }
  return kWidth;
}

}  // namespace

Bounds with_limit(std::string_view name, const Bounds& bounds) {
  if (!std::isinf(bounds.max)) return bounds;
  Bounds limited = bounds;
  limited.max = limit_of(name);
  if (std::isinf(limited.min)) limited.min = -limited.max;
  return limited;
}

}  // namespace s2s
