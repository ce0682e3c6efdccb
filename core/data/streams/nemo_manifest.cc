// Reads NeMo's JSON manifests of audio files.

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "audio/audio_reader.h"
#include "base/fnv.h"
#include "base/text.h"
#include "base/whole_number.h"
#include "s2s/data/frames.h"
#include "streams/leaf_streams.h"
#include "streams/nemo_cut.h"
#include "streams/nemo_entry.h"
#include "streams/source_lines.h"
#include "streams/stream_errors.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

const std::vector<std::string>& keys_of_audio(bool has_sampling_rate) {
  static const std::vector<std::string> kLong = {"audio_filepath", "duration", "offset",
                                                 "sampling_rate"};
  static const std::vector<std::string> kAll = {"audio_filepath", "duration", "offset",
                                                "sampling_rate", "sample_rate"};
  return has_sampling_rate ? kLong : kAll;
}

/// Returns the recording as the line describes it, without opening the file.
Recording written_recording(const std::string& audio, double end_s, int64_t rate) {
  Recording recording;
  recording.id = audio;
  recording.sources = {{.channels = {0}, .source = audio}};
  recording.sample_rate_hz = rate;
  recording.num_samples = compute_num_samples(end_s, rate);
  recording.duration_s = end_s;
  recording.channel_ids = {0};
  return recording;
}

Recording recording_of_file(const std::string& audio, const NemoEntry& entry) {
  Recording recording;
  try {
    const AudioReader reader(audio);
    describe_audio(reader.info(), recording);
  } catch (const std::runtime_error& error) {
    throw stream_errors::nemo_audio(entry.place(), audio, error.what());
  }
  recording.id = std::filesystem::path(audio).stem().string();
  recording.sources.front().source = audio;
  return recording;
}

/// The order of parts in lhotse's LazyIteratorChain: each pass shuffles the order of the pass
/// before.
class ShuffledParts {
 public:
  ShuffledParts(size_t count, bool shuffle, int64_t seed)
      : shuffle_(shuffle && count > 1), seed_(seed), order_(count) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  const std::vector<size_t>& of_pass(int64_t epoch) {
    if (!shuffle_) return order_;
    if (epoch + 1 < num_shuffles_) {
      num_shuffles_ = 0;
      std::iota(order_.begin(), order_.end(), size_t{0});
    }
    for (; num_shuffles_ <= epoch; ++num_shuffles_) {
      PythonRandom(seed_ + num_shuffles_).shuffle(order_);
    }
    return order_;
  }

 private:
  bool shuffle_;
  int64_t seed_;
  int64_t num_shuffles_ = 0;
  std::vector<size_t> order_;
};

class NemoManifestStream : public LeafStream {
 public:
  NemoManifestStream(std::vector<std::string> paths, const InputAttributes& attributes)
      : LeafStream(attributes.on_bad),
        attributes_(attributes),
        lines_(std::move(paths), kNemoManifestExpected, attributes.on_bad),
        parts_(lines_.size(), attributes.shuffle, attributes.shard_seed) {}

  void rewind(int64_t epoch) override {
    epoch_ = epoch;
    part_ = 0;
    cursor_.reset();
  }

  StreamState state() const override {
    return {{"epoch", epoch_}, {"part", part_}, {"row", cursor_ ? cursor_->row() : 0}};
  }

  void restore(const StreamState& state) override {
    rewind(state.at("epoch").get<int64_t>());
    part_ = state.at("part").get<size_t>();
    if (const auto row = state.at("row").get<int64_t>(); row > 0) open_part(row);
  }

  CutPtr make(CutKeyView key) const override {
    const auto file = static_cast<size_t>(key[0]);
    const std::string line = lines_.open(file)->line(key[1]);
    return std::make_shared<const Cut>(
        make_cut(parse_nemo_entry(line, lines_.path(file), key[1] + 1)));
  }

  uint64_t fingerprint() const override {
    const InputAttributes& a = attributes_;
    return fnv1a(fmt::format("nemo {} {} {} {}", a.text_field, a.metadata_only, a.shuffle,
                             a.shuffle ? a.shard_seed : 0),
                 files_fingerprint(lines_.paths()));
  }

  std::optional<int64_t> size() const override { return lines_.num_lines(); }

 protected:
  std::optional<CutKey> next_row() override {
    while (part_ < lines_.size()) {
      if (!cursor_) open_part(0);
      const int64_t row = cursor_->row();
      if (cursor_->next(line_)) {
        if (is_blank_line(line_)) continue;
        return CutKey{static_cast<int64_t>(file_of_part()), row};
      }
      cursor_.reset();
      ++part_;
    }
    return std::nullopt;
  }

  CutPtr read_row(const CutKey& key) override {
    const NemoEntry entry = parse_nemo_entry(line_, lines_.path(file_of_part()), key[1] + 1);
    return entry.is_skipped() ? nullptr : std::make_shared<const Cut>(make_cut(entry));
  }

 private:
  size_t file_of_part() { return parts_.of_pass(epoch_)[part_]; }

  void open_part(int64_t row) { cursor_.emplace(lines_.open(file_of_part()), row); }

  Cut make_cut(const NemoEntry& entry) const {
    const std::string audio = nemo_audio_path(entry.audio_filepath(), entry.file);
    const std::optional<double> duration = entry.number("duration");
    if (!duration || !(*duration > 0)) {
      throw stream_errors::nemo_line(entry.place(), "duration is missing or not above 0",
                                     "the seconds of audio");
    }
    const std::optional<double> offset = entry.number("offset");
    std::optional<double> rate = entry.number("sampling_rate");
    const bool has_sampling_rate = rate.has_value();
    if (!rate) rate = entry.number("sample_rate");
    const double end_s = offset.value_or(0) + *duration;
    Cut cut;
    if (rate || attributes_.metadata_only) {
      const int64_t rate_hz = to_whole(rate.value_or(kAssumedRateHz));
      cut = whole_cut(written_recording(audio, end_s, rate_hz));
    } else {
      cut = whole_cut(recording_of_file(audio, entry));
    }
    cut.manifest = entry.file;
    cut.line = entry.line;
    if (attributes_.metadata_only) {
      cut.start_s = offset.value_or(0);
      cut.duration_s = *duration;
    } else if (offset) {
      take_stretch(cut, *offset, *duration, entry.place());
      cut.id += "-" + centiseconds(*offset) + "-" + centiseconds(*duration);
    }
    Supervision turn = whole_turn(cut, entry, {attributes_.text_field, attributes_.lang_field});
    turn.channels = cut.channels;
    turn.channel_is_list = cut.kind == Cut::Kind::kMulti;
    cut.supervisions.push_back(std::move(turn));
    cut.custom = custom_fields(entry.json, keys_of_audio(has_sampling_rate));
    return cut;
  }

  InputAttributes attributes_;
  LineFiles lines_;
  ShuffledParts parts_;
  int64_t epoch_ = 0;
  size_t part_ = 0;  // index in the order of the pass
  std::optional<files::LineCursor> cursor_;
  std::string line_;  // the row that is being read
};

}  // namespace

StreamPtr open_nemo_manifests(std::vector<std::string> paths, const InputAttributes& attributes) {
  return std::make_unique<NemoManifestStream>(std::move(paths), attributes);
}

}  // namespace s2s::data
