#include "s2s_run/runs/runs_facts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace s2s::run {
namespace {

constexpr const char* kNone = "-";
constexpr size_t kShownValues = 6;

/// A value that distinguishes runs. Sorts by how much it distinguishes.
struct OwnValue {
  bool is_no_name = false;  // not the name, type or preset of a component
  bool is_part = false;     // some run has no such key: it belongs to a component
  ptrdiff_t num_alike = 0;  // runs with the same value
  size_t place = 0;         // in the order of the configurations
  std::string text;

  bool operator<(const OwnValue& other) const {
    return std::tie(is_no_name, is_part, num_alike, place) <
           std::tie(other.is_no_name, other.is_part, other.num_alike, other.place);
  }
};

std::string own_text(std::vector<OwnValue> values) {
  std::sort(values.begin(), values.end());
  std::vector<std::string> texts;
  for (const OwnValue& value : values) {
    if (texts.size() == kShownValues) {
      texts.push_back(fmt::format("and {} more", values.size() - kShownValues));
      break;
    }
    texts.push_back(value.text);
  }
  return texts.empty() ? kNone : joined(texts, ", ");
}

}  // namespace

std::tm local_time(std::time_t time) {
  std::tm local{};
  ::localtime_r(&time, &local);
  return local;
}

std::string started_text(const RunRecord& run) {
  const auto seconds = RunRecord::number(run.manifest, "started_unix_s");
  if (!seconds) return kNone;
  return fmt::format("{:%Y-%m-%d %H:%M}", local_time(static_cast<std::time_t>(*seconds)));
}

std::string steps_text(const RunRecord& run) {
  const int64_t max = run.max_steps();
  return max > 0 ? fmt::format("{} of {}", run.last_step(), max) : std::to_string(run.last_step());
}

std::string last_loss_text(const RunRecord& run) {
  if (run.last.is_null()) return kNone;
  const auto loss = RunRecord::number(run.last, "loss");
  return loss ? fmt::format("{:.4f}", *loss) : kNone;
}

std::vector<std::string> own_values(const std::vector<ConfigDifference>& differences,
                                    size_t num_runs) {
  std::vector<std::vector<OwnValue>> of_run(num_runs);
  for (size_t place = 0; place < differences.size(); ++place) {
    const auto& [key, values] = differences[place];
    const std::string last = key.substr(key.rfind('.') + 1);
    const bool is_name = last == "name" || last == "type" || last == "preset";
    const bool is_part = std::find(values.begin(), values.end(), kNone) != values.end();
    for (size_t i = 0; i < num_runs; ++i) {
      const auto num_alike = std::count(values.begin(), values.end(), values[i]);
      const bool is_usual = 2 * static_cast<size_t>(num_alike) > num_runs;
      const bool is_absent = values[i] == kNone;  // the component's name says that
      if (is_usual || is_absent) continue;
      of_run[i].push_back({!is_name, is_part, num_alike, place, key + "=" + values[i]});
    }
  }
  std::vector<std::string> texts;
  for (std::vector<OwnValue>& values : of_run) texts.push_back(own_text(std::move(values)));
  return texts;
}

}  // namespace s2s::run
