#pragma once
// metrics.jsonl as a file of any length: the step of a line, and what a resumed run keeps.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s2s {

/// The step that a line of metrics.jsonl is of; nothing for a line of no step. Lines that look as
/// the program writes them are not parsed.
std::optional<int64_t> step_of_metrics(std::string_view line);

/// What a cut of metrics.jsonl found.
struct MetricsCut {
  int64_t last_step = 0;     // of the lines that were read, including dropped ones
  int64_t first_odd = 0;     // 1-based number of the first invalid line; 0: there is none
  size_t bytes_read = 0;     // to find the place of the cut
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
