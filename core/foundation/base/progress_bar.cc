#include "base/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace s2s {

namespace {

/// Singular of a unit: "step" for "steps", "batch" for "batches".
std::string one_of(const std::string& units) {
  const size_t ending = units.ends_with("ches") ? 2 : units.ends_with("s") ? 1 : 0;
  return units.substr(0, units.size() - ending);
}

}  // namespace

std::string format_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto total = static_cast<int64_t>(std::llround(seconds));
  const int64_t days = total / 86400;
  const int64_t hours = total / 3600 % 24;
  const int64_t minutes = total / 60 % 60;
  const std::string prefix = days > 0 ? fmt::format("{} d ", days) : "";
  if (total < 3600) return fmt::format("{}:{:02}", minutes, total % 60);
  return fmt::format("{}{}:{:02}:{:02}", prefix, hours, minutes, total % 60);
}

ProgressBar::ProgressBar(Console& console, ProgressSettings settings, Clock clock)
    : console_(console),
      settings_(std::move(settings)),
      clock_(std::move(clock)),
      started_s_(clock_()),
      last_shown_s_(started_s_),
      done_(settings_.start) {
  samples_.emplace_back(started_s_, done_);
}

ProgressBar::~ProgressBar() {
  if (!finished_) console_.set_status("");
}

double ProgressBar::rate_per_s() const {
  const double seconds = samples_.back().first - samples_.front().first;
  const auto count = static_cast<double>(samples_.back().second - samples_.front().second);
  return seconds > 0 ? count / seconds : 0;
}

std::string ProgressBar::numbers() const {
  std::string text = std::to_string(done_);
  if (settings_.total > 0) text += "/" + std::to_string(settings_.total);
  text += " " + settings_.unit;
  const double rate = rate_per_s();
  if (rate > 0) {
    text += rate >= 1 ? fmt::format(", {:.1f} {}/s", rate, settings_.unit)
                      : fmt::format(", {:.2f} s each", 1 / rate);
    const int64_t left = settings_.total - done_;
    if (left > 0) text += ", " + format_duration(static_cast<double>(left) / rate) + " left";
  }
  return note_.empty() ? text : text + ", " + note_;
}

/// Returns "train  42 % [#####-------] rest". The bar gets the remaining width of the line, and is
/// left out if that is too little.
std::string ProgressBar::bar(const std::string& rest) const {
  if (settings_.total <= 0) return settings_.title + " " + rest;
  const double share =
      std::clamp(static_cast<double>(done_) / static_cast<double>(settings_.total), 0.0, 1.0);
  const std::string head = fmt::format("{} {:3.0f} %", settings_.title, std::floor(100 * share));
  const int64_t room = console_.width() - 5 - static_cast<int64_t>(head.size() + rest.size());
  if (room < 5) return head + " " + rest;
  const auto width = static_cast<size_t>(std::min<int64_t>(room, 40));
  const auto filled = static_cast<size_t>(share * static_cast<double>(width));
  return head + " [" + std::string(filled, '#') + std::string(width - filled, '-') + "] " + rest;
}

void ProgressBar::update(int64_t done, std::string_view note) {
  if (finished_) return;
  const double now_s = clock_();
  done_ = done;
  note_ = note;
  samples_.emplace_back(now_s, done);
  while (samples_.size() > 2 && now_s - samples_[1].first > settings_.rate_window_s) {
    samples_.pop_front();
  }
  const bool terminal = console_.is_terminal();
  const double interval = terminal ? settings_.redraw_interval_s : settings_.line_interval_s;
  if (now_s - last_shown_s_ < interval) return;
  last_shown_s_ = now_s;
  if (terminal) {
    console_.set_status(bar(numbers()));
  } else {
    console_.print_line(settings_.title + ": " + numbers());
  }
}

void ProgressBar::finish() {
  if (finished_) return;
  finished_ = true;
  console_.set_status("");
  const double elapsed_s = clock_() - started_s_;
  std::string text = fmt::format("{}: {}", settings_.title, done_);
  if (settings_.total > 0 && done_ != settings_.total) text += fmt::format("/{}", settings_.total);
  const bool is_one = done_ == 1 && (settings_.total <= 0 || settings_.total == 1);
  text += " " + (is_one ? one_of(settings_.unit) : settings_.unit) + " in " +
          format_duration(elapsed_s);
  if (!note_.empty()) text += ", " + note_;
  console_.print_line(text);
}

}  // namespace s2s
