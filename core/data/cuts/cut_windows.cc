// Many cuts of one.

#include <algorithm>
#include <cmath>

#include "cuts/cut_truncate.h"
#include "cuts/cuts_errors.h"

namespace s2s {
namespace {

int64_t num_windows(double length_s, double window_s, double hop_s) {
  if (!(length_s > 0)) return 0;
  const double whole = std::ceil(std::max(length_s - window_s, 0.0) / hop_s);
  return static_cast<int64_t>(whole) + (length_s - whole * hop_s > 0 ? 1 : 0);
}

}  // namespace

std::vector<Cut> cut_into_windows(const Cut& cut, double duration_s, double hop_s,
                                  bool keep_excessive_supervisions) {
  if (!(duration_s > 0) || hop_s < 0) {
    throw cuts_errors::operation(cut, "cut_into_windows", "the duration is not positive");
  }
  if (hop_s == 0) hop_s = duration_s;
  const data::TurnsById index = data::index_turns(cut);
  std::vector<Cut> cuts;
  const int64_t count = num_windows(cut.duration_s, duration_s, hop_s);
  for (int64_t i = 0; i < count; ++i) {
    TruncateOptions part;
    part.offset_s = hop_s * static_cast<double>(i);
    part.duration_s = duration_s;
    part.keep_excessive_supervisions = keep_excessive_supervisions;
    cuts.push_back(data::truncate(cut, part, &index));
    cuts.back().id = cut.id + "-" + std::to_string(i);
  }
  return cuts;
}

}  // namespace s2s
