#include "s2s_run/option_spellings.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace s2s::run {
namespace {

struct Spelling {
  std::string_view theirs;
  std::array<const char*, 2> ours;  // the first that the command has
};

/// Of sbatch and srun, torchrun, deepspeed and accelerate.
constexpr std::array kSpellings = {
    Spelling{"--cpus-per-task", {"--cpus-per-rank", "--cpus"}},
    Spelling{"-c", {"--cpus-per-rank", "--cpus"}},
    Spelling{"--num-gpus", {"--num-ranks", ""}},
    Spelling{"--gpus", {"--num-ranks", ""}},
    Spelling{"--num-gpus-per-node", {"--num-ranks", "--num-gpus"}},
    Spelling{"--gpus-per-node", {"--num-ranks", "--num-gpus"}},
    Spelling{"--nproc-per-node", {"--num-ranks", "--num-gpus"}},
    Spelling{"--ntasks-per-node", {"--num-ranks", "--num-gpus"}},
    Spelling{"--num-processes", {"--num-ranks", ""}},
    Spelling{"--nnodes", {"--num-nodes", "--nodes"}},
    Spelling{"--num-machines", {"--num-nodes", "--nodes"}},
    Spelling{"-N", {"--num-nodes", "--nodes"}},
    Spelling{"--machine-rank", {"--node-rank", ""}},
    Spelling{"--main-process-ip", {"--master-addr", ""}},
    Spelling{"--main-process-port", {"--master-port", ""}},
    Spelling{"--max-restarts", {"--restarts", ""}},
    Spelling{"-J", {"--job-name", ""}},
    Spelling{"-p", {"--partition", ""}},
    Spelling{"-A", {"--account", ""}},
    Spelling{"-t", {"--time", ""}},
};

}  // namespace

void understand_spellings(
    std::vector<std::string>& words,
    const std::function<bool(const std::string& command, const std::string& option)>& has_option) {
  const auto group = std::find(words.begin(), words.end(), "launch");
  const auto end = std::find(group, words.end(), "--");
  const auto command = std::find_if(group == end ? end : group + 1, end,
                                    [](const std::string& word) { return !word.starts_with("-"); });
  if (command == end) return;
  for (auto word = command + 1; word != end; ++word) {
    if (!word->starts_with("-")) continue;
    const size_t equals = std::min(word->find('='), word->size());
    std::string name = word->substr(0, equals);
    if (has_option(*command, name)) continue;
    std::replace(name.begin(), name.end(), '_', '-');
    const std::string value = word->substr(equals);
    if (has_option(*command, name)) {
      *word = name + value;
      continue;
    }
    const auto spelling = std::find_if(kSpellings.begin(), kSpellings.end(),
                                       [&](const Spelling& one) { return one.theirs == name; });
    if (spelling == kSpellings.end()) continue;
    for (const std::string ours : spelling->ours) {
      if (ours.empty() || !has_option(*command, ours)) continue;
      *word = ours + value;
      break;
    }
  }
}

}  // namespace s2s::run
