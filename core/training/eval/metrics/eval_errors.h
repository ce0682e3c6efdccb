#pragma once
// User mistakes around metrics and reports.

#include <string>

#include "s2s/error.h"

namespace s2s::eval_errors {

/// [eval/report-write]
Error report_not_written(const std::string& path, const std::string& reason);
/// [eval/metrics-line]
Error metrics_line(const std::string& path, int64_t line, const std::string& reason);

}  // namespace s2s::eval_errors
