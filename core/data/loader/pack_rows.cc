#include "loader/pack_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/whole_number.h"
#include "cuts/mixed_cut.h"
#include "streams/python_random.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

struct Row {
  std::vector<CutItem> items;
  std::vector<int64_t> begin_frames;
  int64_t num_frames = 0;
};

class PackStream : public OneSource {
 public:
  PackStream(StreamPtr source, const PackRule& rule)
      : OneSource(
            std::move(source),
            fmt::format("pack {} {} {} {} {} {}", rule.max_frames, rule.min_gap_frames,
                        rule.max_gap_frames, rule.open_sequences, rule.frame_length_s, rule.seed)),
        rule_(rule),
        random_(rule.seed) {}

  std::optional<CutItem> next() override {
    while (!at_end_ && static_cast<int64_t>(open_.size()) <= rule_.open_sequences) {
      std::optional<CutItem> item = source().next();
      at_end_ = !item.has_value();
      if (item) add(std::move(*item));
    }
    if (open_.empty()) return std::nullopt;
    const auto done = at_end_ ? open_.begin() : fullest();
    Row row = std::move(*done);
    open_.erase(done);
    CutKey key = key_of(row);
    CutPtr cut = row_cut(row);
    return CutItem{std::move(key), std::move(cut)};
  }

  void rewind(int64_t epoch) override {
    OneSource::rewind(epoch);
    random_.seed(rule_.seed + epoch);
    open_.clear();
    at_end_ = false;
  }

  StreamState state() const override {
    StreamState state = OneSource::state();
    state["random"] = random_.state();
    state["at_end"] = at_end_;
    std::vector<CutItem> rows;
    for (const Row& row : open_) rows.push_back({key_of(row), nullptr});
    state["open"] = packed_keys(rows);
    return state;
  }

  void restore(const StreamState& state) override {
    OneSource::restore(state);
    random_.restore(state_field<std::string>(state, "random"));
    at_end_ = state_field<bool>(state, "at_end");
    open_.clear();
    for (const CutItem& item : unpacked_keys(state_field<std::string>(state, "open"))) {
      open_.push_back(row_of(item.key));
    }
  }

  CutPtr make(CutKeyView key) const override {
    const Row row = row_of(key);
    return row_cut(row);
  }

 private:
  static CutKey key_of(const Row& row) {
    CutKey key = {row.num_frames, static_cast<int64_t>(row.items.size())};
    for (size_t i = 0; i < row.items.size(); ++i) {
      const CutKey& part = row.items[i].key;
      key.push_back(row.begin_frames[i]);
      key.push_back(static_cast<int64_t>(part.size()));
      key.insert(key.end(), part.begin(), part.end());
    }
    return key;
  }

  static Row row_of(CutKeyView key) {
    const BatchRow batch_row = packed_row(key, nullptr);
    Row row;
    row.num_frames = batch_row.num_frames;
    for (const BatchedCut& part : batch_row.cuts) {
      row.items.push_back({part.key, nullptr});
      row.begin_frames.push_back(part.first_frame);
    }
    return row;
  }

  CutPtr row_cut(const Row& row) const {
    Cut mix;
    mix.kind = Cut::Kind::kMixed;
    for (size_t i = 0; i < row.items.size(); ++i) {
      MixTrack track;
      track.cut = cut_of(row.items[i], source());
      track.offset_s = static_cast<double>(row.begin_frames[i]) * rule_.frame_length_s;
      mix.id += fmt::format("{}{}@{}", i == 0 ? "" : "+", track.cut->id, row.begin_frames[i]);
      mix.tracks.push_back(std::move(track));
    }
    mix.manifest = mix.tracks.front().cut->manifest;
    mix.line = mix.tracks.front().cut->line;
    update_mixed(mix);
    mix.duration_s = static_cast<double>(row.num_frames) * rule_.frame_length_s;
    return std::make_shared<const Cut>(std::move(mix));
  }

  void add(CutItem item) {
    const int64_t frames = frames_of(cut_of(item, source())->duration_s, rule_.frame_length_s);
    const int64_t gap = draw_gap();
    auto best = open_.end();
    for (auto row = open_.begin(); row != open_.end(); ++row) {
      if (row->num_frames + gap + frames > rule_.max_frames) continue;
      if (best == open_.end() || row->num_frames > best->num_frames) best = row;
    }
    if (best == open_.end()) {
      Row row;
      row.items.push_back(std::move(item));
      row.begin_frames.push_back(0);
      row.num_frames = frames;
      open_.push_back(std::move(row));
      return;
    }
    best->begin_frames.push_back(best->num_frames + gap);
    best->num_frames += gap + frames;
    best->items.push_back(std::move(item));
  }

  int64_t draw_gap() {
    if (rule_.max_gap_frames <= rule_.min_gap_frames) return rule_.min_gap_frames;
    return random_.randint(rule_.min_gap_frames, rule_.max_gap_frames);
  }

  std::vector<Row>::iterator fullest() {
    return std::max_element(open_.begin(), open_.end(),
                            [](const Row& a, const Row& b) { return a.num_frames < b.num_frames; });
  }

  PackRule rule_;
  PythonRandom random_;
  std::vector<Row> open_;
  bool at_end_ = false;
};

}  // namespace

int64_t frames_of(double duration_s, double frame_length_s) {
  return to_whole(std::ceil(duration_s / frame_length_s - 1e-6));
}

StreamPtr pack(StreamPtr source, const PackRule& rule) {
  return std::make_unique<PackStream>(std::move(source), rule);
}

BatchRow packed_row(CutKeyView key, const CutPtr& cut) {
  BatchRow row;
  row.num_frames = take_front(key, std::numeric_limits<int64_t>::max());
  const int64_t count = take_front(key, std::numeric_limits<int64_t>::max());
  for (int64_t i = 0; i < count; ++i) {
    BatchedCut part;
    part.first_frame = take_front(key, row.num_frames);
    const int64_t length = take_front(key, static_cast<int64_t>(key.size()));
    const CutKeyView own = key.first(static_cast<size_t>(length));
    part.key.assign(own.begin(), own.end());
    key = key.subspan(own.size());
    if (cut) part.cut = cut->tracks[static_cast<size_t>(i)].cut;
    row.cuts.push_back(std::move(part));
  }
  return row;
}

}  // namespace s2s::data
