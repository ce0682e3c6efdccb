#include "loader/codes_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "loader/loader_errors.h"

namespace s2s::data {

void check_codes_options(const DatasetScope& scope, Findings& findings) {
  const CutBatchesOptions& o = scope.options;
  std::vector<std::string> found;
  const auto find = [&found](const char* name, bool is_on) {
    if (is_on) found.emplace_back(name);
  };
  find("truncate_duration", o.truncate_duration.has_value());
  find("cut_into_windows_duration", o.cut_into_windows_duration.has_value());
  find("pad_min_duration", o.pad_min_duration.has_value());
  find("perturb_speed", o.perturb_speed);
  find("concatenate", o.concatenate.max_duration > 0);
  find("concatenate_samples", o.concatenate_samples);
  find("compression_enable_for_custom_fields",
       o.compression_enabled && o.compression_enable_for_custom_fields);
  if (found.empty()) return;
  findings.add(loader_errors::options(
      scope.path,
      fmt::format("codes_field cannot be combined with {}: they change the agent's audio, but not "
                  "its kept codes",
                  fmt::join(found, ", ")),
      "one or the other; remove them, or remove codes_field so that the codec runs"));
}

}  // namespace s2s::data
