#include "eval/metrics/eval_errors.h"

namespace s2s::eval_errors {

Error report_not_written(const std::string& path, const std::string& reason) {
  return {ExitCode::kData, "eval/report-write",
          "cannot write " + path + ": " + reason +
              "; expected a writable folder with room for the report; choose another "
              "exp_manager.explicit_log_dir or make room, then validate again"};
}

Error metrics_line(const std::string& path, int64_t line, const std::string& reason) {
  return {ExitCode::kData, "eval/metrics-line",
          path + ":" + std::to_string(line) + ": not a JSON object: " + reason +
              "; expected one JSON object per line; delete that line and validate again"};
}

}  // namespace s2s::eval_errors
