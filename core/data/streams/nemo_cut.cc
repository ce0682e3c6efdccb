#include "streams/nemo_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "audio/audio_reader.h"
#include "s2s/data/frames.h"
#include "streams/stream_errors.h"

namespace s2s::data {

void describe_audio(const AudioInfo& info, Recording& recording) {
  AudioSource source;
  source.channels.resize(static_cast<size_t>(info.num_channels));
  std::iota(source.channels.begin(), source.channels.end(), int64_t{0});
  recording.channel_ids = source.channels;
  recording.sources = {std::move(source)};
  recording.sample_rate_hz = info.sample_rate_hz;
  recording.num_samples = info.num_samples;
  recording.duration_s = info.duration_s();
}

Cut whole_cut(Recording recording) {
  Cut cut;
  cut.id = recording.id;
  cut.duration_s = recording.duration_s;
  cut.channels = recording.channel_ids;
  cut.kind = cut.channels.size() == 1 ? Cut::Kind::kMono : Cut::Kind::kMulti;
  cut.recording = std::move(recording);
  return cut;
}

void take_stretch(Cut& cut, double offset_s, double duration_s, const std::string& place) {
  const int64_t rate = cut.recording->sample_rate_hz;
  const int64_t first =
      compute_num_samples(cut.start_s, rate) + compute_num_samples(offset_s, rate);
  const int64_t end =
      compute_num_samples(cut.start_s, rate) + compute_num_samples(cut.duration_s, rate);
  const int64_t count = std::min(compute_num_samples(duration_s, rate), end - first);
  if (offset_s < 0 || count <= 0) {
    throw stream_errors::nemo_line(
        place,
        fmt::format("nothing is left from offset {} s on of a recording of {} s", offset_s,
                    cut.recording->duration_s),
        "an offset inside of the recording");
  }
  cut.start_s = static_cast<double>(first) / static_cast<double>(rate);
  cut.duration_s = static_cast<double>(count) / static_cast<double>(rate);
}

}  // namespace s2s::data
