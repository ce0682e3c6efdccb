#pragma once
// Shows the progress of a long job: a bar with rate and remaining time on a terminal, or else
// lines.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "base/console.h"

namespace s2s {

struct ProgressSettings {
  std::string title;           // "train"
  std::string unit = "steps";  // unit of `total`
  int64_t total = 0;           // 0: unknown
  int64_t start = 0;           // done before (by a resumed run)
  double redraw_interval_s = 0.1;
  double line_interval_s = 10;  // without a terminal
  double rate_window_s = 30;    // the rate is that of the last seconds
};

class ProgressBar {
 public:
  /// `console` must outlive the bar.
  ProgressBar(Console& console, ProgressSettings settings, Clock clock = monotonic_seconds);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` of `total` are done; `note` follows the numbers ("loss 2.31").
  void update(int64_t done, std::string_view note = {});
  /// Removes the bar and leaves one summary line. To be called once; later updates have no effect.
  void finish();

 private:
  double rate_per_s() const;
  std::string numbers() const;
  std::string bar(const std::string& rest) const;

  Console& console_;
  ProgressSettings settings_;
  Clock clock_;
  double started_s_;
  double last_shown_s_;
  int64_t done_;
  std::string note_;
  bool finished_ = false;
  std::deque<std::pair<double, int64_t>> samples_;  // time, done
};

/// "0:07", "12:05", "3:04:05", "2 d 3:04:05".
std::string format_duration(double seconds);

}  // namespace s2s
