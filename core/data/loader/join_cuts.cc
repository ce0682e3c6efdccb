#include "loader/join_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cuts/cut_operations.h"
#include "loader/mapped_sampler.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

/// A row to which cuts are being added.
struct Joined {
  std::vector<CutKey> parts;
  Cut cut;
};

class JoinSampler : public OneSampler {
 public:
  JoinSampler(SamplerPtr source, const JoinOptions& options)
      : OneSampler(std::move(source),
                   fmt::format("join {} {} {} {}", options.gap_s, options.duration_factor,
                               options.db_norm.value_or(0), options.merge_supervisions)),
        options_(options) {}

  std::optional<SampledBatch> next() override {
    std::optional<SampledBatch> batch = source().next();
    if (!batch) return std::nullopt;
    std::vector<Joined> rows;
    for (CutItem& item : batch->items) {
      Joined row;
      row.cut = *cut_of_item(item);
      row.parts.push_back(std::move(item.key));
      rows.push_back(std::move(row));
    }
    batch->items.clear();
    for (Joined& row : join(std::move(rows))) {
      batch->items.push_back({key_of(row), finished(std::move(row.cut))});
    }
    return batch;
  }

  CutPtr make(CutKeyView key) const override {
    const int64_t count = take_front(key, static_cast<int64_t>(key.size()));
    Cut cut;
    for (int64_t i = 0; i < count; ++i) {
      const auto length = static_cast<size_t>(take_front(key, static_cast<int64_t>(key.size())));
      const CutPtr part = source().make(key.first(length));
      key = key.subspan(length);
      cut = i == 0 ? *part : joined(cut, *part);
    }
    return finished(std::move(cut));
  }

 private:
  static CutKey key_of(const Joined& row) {
    CutKey key = {static_cast<int64_t>(row.parts.size())};
    for (const CutKey& part : row.parts) {
      key.push_back(static_cast<int64_t>(part.size()));
      key.insert(key.end(), part.begin(), part.end());
    }
    return key;
  }

  Cut joined(const Cut& cut, const Cut& next) const {
    PadOptions gap;
    gap.duration_s = cut.duration_s + options_.gap_s;
    return append(pad(cut, gap), next);
  }

  CutPtr finished(Cut cut) const {
    if (options_.db_norm) {
      cut = normalize_loudness(cut, *options_.db_norm, /*mix_first=*/false, /*affix_id=*/true);
    }
    if (options_.merge_supervisions) cut = merge_supervisions(cut);
    return std::make_shared<const Cut>(std::move(cut));
  }

  std::vector<Joined> join(std::vector<Joined> rows) const {
    std::stable_sort(rows.begin(), rows.end(), [](const Joined& a, const Joined& b) {
      return a.cut.duration_s > b.cut.duration_s;
    });
    if (rows.size() <= 1) return rows;
    const double longest_s = rows.front().cut.duration_s * options_.duration_factor;
    size_t current = 0;
    while (current + 1 < rows.size()) {
      Joined& row = rows[current];
      const Joined& shortest = rows.back();
      const double joined_s = row.cut.duration_s + options_.gap_s + shortest.cut.duration_s;
      if (joined_s > longest_s) {
        ++current;
        continue;
      }
      row.cut = joined(row.cut, shortest.cut);
      row.parts.insert(row.parts.end(), shortest.parts.begin(), shortest.parts.end());
      rows.pop_back();
    }
    return rows;
  }

  JoinOptions options_;
};

}  // namespace

SamplerPtr join_cuts(SamplerPtr source, const JoinOptions& options) {
  return std::make_unique<JoinSampler>(std::move(source), options);
}

}  // namespace s2s::data
