#include "streams/nemo_manifest.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <utility>

#include "audio/audio_reader.h"
#include "base/fnv.h"
#include "base/whole_number.h"
#include "s2s/data/frames.h"
#include "streams/input_errors.h"
#include "streams/nemo_cut.h"
#include "streams/nemo_entry.h"
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

/// What the line says, without a look at the file.
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
    throw input_errors::nemo_audio(entry.place(), audio, error.what());
  }
  recording.id = std::filesystem::path(audio).stem().string();
  recording.sources.front().source = audio;
  return recording;
}

}  // namespace

NemoManifestStream::NemoManifestStream(NemoManifestOptions options)
    : options_(std::move(options)),
      lines_(options_.paths,
             "a NeMo manifest with a JSON object on each line; check "
             "manifest_filepath",
             options_.on_bad),
      parts_(options_.paths.size(), options_.shuffle_shards, options_.shard_seed) {
  rewind(0);
}

void NemoManifestStream::rewind(int64_t epoch) {
  epoch_ = epoch;
  part_ = 0;
  cursor_.reset();
}

void NemoManifestStream::open_part(int64_t row) {
  cursor_.emplace(lines_.open(parts_.of_pass(epoch_)[part_]), row);
}

std::optional<CutItem> NemoManifestStream::next() {
  std::string line;
  while (part_ < lines_.size()) {
    if (!cursor_) open_part(0);
    const int64_t row = cursor_->row();
    if (!cursor_->next(line)) {
      cursor_.reset();
      ++part_;
      continue;
    }
    const size_t file = parts_.of_pass(epoch_)[part_];
    CutItem item{{static_cast<int64_t>(file), row}, nullptr};
    const bool good = is_good(options_.on_bad, [&] {
      const NemoEntry entry = parse_nemo_entry(line, lines_.path(file), row + 1);
      if (!entry.is_skipped()) item.cut = std::make_shared<const Cut>(make_cut(entry));
    });
    if (good && item.cut) return item;
  }
  return std::nullopt;
}

std::shared_ptr<const Cut> NemoManifestStream::make(CutKeyView token) const {
  const auto file = static_cast<size_t>(token[0]);
  const std::string line = lines_.open(file)->line(token[1]);
  return std::make_shared<const Cut>(
      make_cut(parse_nemo_entry(line, lines_.path(file), token[1] + 1)));
}

Cut NemoManifestStream::make_cut(const NemoEntry& entry) const {
  const std::string audio = nemo_audio_path(entry.audio_filepath(), entry.file);
  const std::optional<double> duration = entry.number("duration");
  if (!duration || !(*duration > 0)) {
    throw input_errors::nemo_line(entry.place(), "duration is missing or not above 0",
                                  "the seconds of audio");
  }
  const std::optional<double> offset = entry.number("offset");
  std::optional<double> rate = entry.number("sampling_rate");
  const bool has_sampling_rate = rate.has_value();
  if (!rate) rate = entry.number("sample_rate");
  const double end_s = offset.value_or(0) + *duration;
  Cut cut;
  if (rate || options_.metadata_only) {
    const int64_t rate_hz = to_whole(rate.value_or(kAssumedRateHz));
    cut = whole_cut(written_recording(audio, end_s, rate_hz));
  } else {
    cut = whole_cut(recording_of_file(audio, entry));
  }
  cut.manifest = entry.file;
  cut.line = entry.line;
  if (options_.metadata_only) {
    cut.start_s = offset.value_or(0);
    cut.duration_s = *duration;
  } else if (offset) {
    take_stretch(cut, *offset, *duration, entry.place());
    cut.id += "-" + centiseconds(*offset) + "-" + centiseconds(*duration);
  }
  Supervision turn = whole_turn(cut, entry, options_.fields);
  turn.channels = cut.channels;
  turn.channel_is_list = cut.kind == Cut::Kind::kMulti;
  cut.supervisions.push_back(std::move(turn));
  cut.custom = custom_fields(entry.json, keys_of_audio(has_sampling_rate));
  return cut;
}

StreamState NemoManifestStream::state() const {
  return {{"epoch", epoch_}, {"part", part_}, {"row", cursor_ ? cursor_->row() : 0}};
}

void NemoManifestStream::restore(const StreamState& state) {
  rewind(state.at("epoch").get<int64_t>());
  part_ = state.at("part").get<size_t>();
  if (const auto row = state.at("row").get<int64_t>(); row > 0) open_part(row);
}

uint64_t NemoManifestStream::fingerprint() const {
  const NemoManifestOptions& o = options_;
  return fnv1a(fmt::format("nemo {} {} {} {}", o.fields.text, o.metadata_only, o.shuffle_shards,
                           o.shuffle_shards ? o.shard_seed : 0),
               files_fingerprint(o.paths));
}

std::optional<int64_t> NemoManifestStream::size() const { return lines_.num_lines(); }

}  // namespace s2s::data
