#pragma once
// metrics.jsonl at any length: the step of a line, and the lines that a resumed run keeps.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s2s {

/// The step of a line of metrics.jsonl; nothing if it has none. Does not parse lines in the
/// program's own format.
std::optional<int64_t> step_of_metrics(std::string_view line);

/// The result of cutting metrics.jsonl.
struct MetricsCut {
  int64_t last_step = 0;     // of the lines that were read, including dropped ones
  int64_t first_odd = 0;     // 1-based number of the first invalid line; 0: there is none
  size_t bytes_read = 0;     // locates the cut
  bool is_last_odd = false;  // only the last line is invalid, as after a crash during a write
};

/// Drops the lines of steps after `steps_done` from the end. Also drops invalid lines among those
/// and in the 4 MiB before them, where a crash or a full disk can leave some. Reads the file from
/// its end and truncates it. Rewrites it only to drop a line in its middle, or if it has a second
/// hard link, which may be a copy to keep. `repeats_validation`: the validation after `steps_done`
/// is repeated, so its lines are dropped, too.
/// Errors: std::system_error, [io/line], [io/write].
MetricsCut cut_metrics(const std::string& path, int64_t steps_done,
                       bool repeats_validation = false);

}  // namespace s2s
