#include "weights/checkpoint_errors.h"

#include <fmt/format.h>

namespace s2s::checkpoint_errors {

Error incomplete(const std::string& folder, const std::string& file) {
  return {ExitCode::kData, "checkpoint/incomplete",
          fmt::format("{} lacks {} or it cannot be read\n  expected: a checkpoint as s2s-run "
                      "wrote it; take an older one (checkpoints/step=N); when this folder is moved "
                      "away, a run goes on from the one before",
                      folder, file)};
}

Error damaged(const std::string& path, const std::string& what) {
  return {
      ExitCode::kData, "checkpoint/damaged",
      fmt::format("{} is not as it was written: {}\n  expected: the bytes that its checkpoint's "
                  "index.json has the checksums of; copy it again, or take an older "
                  "checkpoint (checkpoints/step=N); when this folder is moved away, a run goes on "
                  "from the one before",
                  path, what)};
}

}  // namespace s2s::checkpoint_errors
