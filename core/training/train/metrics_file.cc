#include "train/metrics_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/appended_lines.h"
#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"

namespace s2s {
namespace {

constexpr size_t kCheckedBytes = size_t{4} << 20;

/// Bytes of a file, from and up to.
struct Stretch {
  size_t begin = 0, end = 0;
};

/// What stays of a file.
struct Plan {
  size_t end = 0;                // after the last line that stays
  bool has_break = true;         // that line ends with a line break
  std::vector<Stretch> dropped;  // before `end`, from the last one on
  std::optional<size_t> odd_at;  // the first invalid line
  MetricsCut cut;
};

/// The step of {"step":N,...} on one line without another object in it: two lines that were torn
/// into one, and a line with a hole, are not of this form.
std::optional<int64_t> step_of_own_line(std::string_view line) {
  constexpr std::string_view kBegin = "{\"step\":";
  if (!line.starts_with(kBegin) || line.back() != '}') return std::nullopt;
  const std::string_view rest = line.substr(kBegin.size());
  if (rest.find('{') != std::string_view::npos || rest.find('}') + 1 != rest.size() ||
      std::any_of(rest.begin(), rest.end(), [](char c) { return c >= 0 && c < ' '; })) {
    return std::nullopt;
  }
  int64_t step = 0;
  const auto [stopped, error] = std::from_chars(rest.data(), rest.data() + rest.size(), step);
  const bool is_number = error == std::errc() && (*stopped == ',' || *stopped == '}');
  return is_number ? std::optional(step) : std::nullopt;
}

bool is_validation(std::string_view line) {
  return line.find("\"validation\":") != std::string_view::npos;
}

Plan plan_cut(AppendedLines& file, int64_t steps_done, bool repeats_validation) {
  Plan plan;
  bool keeps_any = false;
  while (const auto line = file.previous()) {
    const std::optional<int64_t> step = step_of_metrics(line->text);
    // Validation lines carry the number of steps done. Step lines carry the 1-based step.
    const bool repeats = repeats_validation && step == steps_done && is_validation(line->text);
    const bool keeps = step && *step <= steps_done && !repeats;
    if (step) {
      plan.cut.last_step = std::max(plan.cut.last_step, *step);
    } else {
      plan.odd_at = line->begin;
      plan.cut.is_last_odd = line->end == file.size();
    }
    if (keeps && !keeps_any) {
      keeps_any = true;
      plan.end = line->end;
      plan.has_break = line->is_complete;
    } else if (!keeps && keeps_any) {
      plan.dropped.push_back({line->begin, line->end});
    }
    if (keeps_any && plan.end - line->begin > kCheckedBytes) break;
  }
  plan.cut.bytes_read = file.bytes_read();
  return plan;
}

int64_t line_number(const std::string& path, size_t begin) {
  AppendedLines file(path);
  int64_t number = 1;
  for (auto line = file.next(); line && line->end <= begin; line = file.next()) ++number;
  return number;
}

/// True if the file has no second hard link.
bool has_one_name(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
}

void cut_in_place(const std::string& path, const Plan& plan) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) throw write_error(path, "cannot open", errno);
  bool is_done = ::ftruncate(file, static_cast<off_t>(plan.end)) == 0;
  if (is_done && !plan.has_break) {
    is_done = ::pwrite(file, "\n", 1, static_cast<off_t>(plan.end)) == 1;
  }
  is_done = is_done && ::fsync(file) == 0;
  const int reason = errno;
  ::close(file);
  if (!is_done) throw write_error(path, "cannot cut the lines of later steps", reason);
}

void copy_bytes(AppendedLines& file, Stretch from, AtomicFile& out) {
  std::string block;
  while (from.begin < from.end) {
    block.resize(std::min(AppendedLines::kBlockBytes, from.end - from.begin));
    file.read(from.begin, block.data(), block.size());
    out.write(block);
    from.begin += block.size();
  }
}

void write_anew(AppendedLines& file, const Plan& plan) {
  AtomicFile out(file.path());
  Stretch kept;
  for (auto dropped = plan.dropped.rbegin(); dropped != plan.dropped.rend(); ++dropped) {
    kept.end = dropped->begin;
    copy_bytes(file, kept, out);
    kept.begin = dropped->end;
  }
  kept.end = plan.end;
  copy_bytes(file, kept, out);
  if (!plan.has_break) out.write("\n");
  out.commit();
}

}  // namespace

std::optional<int64_t> step_of_metrics(std::string_view line) {
  if (const auto own = step_of_own_line(line)) return own;
  const auto parsed = try_parse_foreign_json(line);
  if (!parsed.is_object() || !parsed.contains("step")) return std::nullopt;
  const auto& step = parsed.at("step");
  return step.is_number_integer() ? std::optional(step.get<int64_t>()) : std::nullopt;
}

MetricsCut cut_metrics(const std::string& path, int64_t steps_done, bool repeats_validation) {
  AppendedLines file(path);
  Plan plan = plan_cut(file, steps_done, repeats_validation);
  if (plan.odd_at && !plan.cut.is_last_odd) plan.cut.first_odd = line_number(path, *plan.odd_at);
  const bool is_same = plan.dropped.empty() && plan.end == file.size() && plan.has_break;
  if (!plan.dropped.empty() || !has_one_name(path)) {
    write_anew(file, plan);
  } else if (!is_same) {
    cut_in_place(path, plan);
  }
  return plan.cut;
}

}  // namespace s2s
