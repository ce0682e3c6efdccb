#include "turn_taking_errors.h"

namespace s2s::turn_taking {

Error distribution_error(const std::string& path, const std::string& id,
                         const std::string& problem) {
  return data_error("metric/distribution",
                    path + ": " + (id.empty() ? "" : "'" + id + "' ") + problem +
                        "\n  expected: {\"ID OF AN EXAMPLE\": [NUMBER, NUMBER, ...]}, as in "
                        "icc_gt_distribution.json of Full-Duplex-Bench; correct the file, or leave "
                        "out backchannel_distributions");
}

Error no_silero(const std::string& path, const std::string& task) {
  return config_error("metric/no-silero",
                      path + ".silero.path: not set, and the task " + task +
                          " needs Silero's network; expected a file of its weights "
                          "(core/docs/reference/metrics.md), or tasks without " +
                          task);
}

}  // namespace s2s::turn_taking
