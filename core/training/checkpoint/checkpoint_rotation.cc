#include "checkpoint/checkpoint_rotation.h"

#include <algorithm>

#include "checkpoint/checkpoint_state.h"
#include "checkpoint/checkpoint_write.h"
#include "weights/checkpoint_proof.h"

namespace s2s {
namespace {

struct Candidate {
  int64_t step = 0;
  std::filesystem::path path;
  std::optional<double> monitored;
};

/// As deep as a resume looks: what it would pass over replaces nothing. The saved one has its
/// proof.
std::vector<Candidate> find_candidates(const std::string& folder, const Rotation& rotation,
                                       int64_t saved) {
  std::vector<Candidate> all;
  for (const auto& [step, path] : list_checkpoints(folder)) {
    const bool is_whole =
        step == saved || checkpoint_fault(path.string(), ProofDepth::kHeaders).empty();
    if (!is_whole) continue;
    all.push_back({step, path, std::nullopt});
    if (rotation.is_monitored) all.back().monitored = monitored_of(path.string());
  }
  return all;
}

bool is_better(const Candidate& a, const Candidate& b, bool is_larger_better) {
  if (a.monitored.has_value() != b.monitored.has_value()) return a.monitored.has_value();
  if (a.monitored && *a.monitored != *b.monitored) {
    return (*a.monitored > *b.monitored) == is_larger_better;
  }
  return a.step > b.step;
}

}  // namespace

std::vector<std::string> rotate_checkpoints(const std::string& folder, const Rotation& rotation,
                                            int64_t saved) {
  if (rotation.keep < 0) return {};
  std::vector<Candidate> all = find_candidates(folder, rotation, saved);
  std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    return is_better(a, b, rotation.is_larger_better);
  });
  for (size_t i = static_cast<size_t>(rotation.keep); i < all.size(); ++i) {
    if (all[i].step != saved) remove_checkpoint(all[i].path);
  }
  return remove_removed(folder);
}

}  // namespace s2s
