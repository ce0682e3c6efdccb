// A checkpoint of a made-up run.
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_shards.h"
#include "core/train/fake_run.h"

namespace s2s::test {

/// Saves `run` after `step` steps; the path of the checkpoint.
inline std::string save_step(const std::string& folder, FakeRun& run, int64_t step) {
  return CheckpointFolder(folder, {}).save(whole_parts(run.model), run.optimizer, {step, "here"});
}

}  // namespace s2s::test
