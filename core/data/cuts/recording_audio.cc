#include "cuts/recording_audio.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/fnv.h"
#include "base/whole_number.h"
#include "cuts/cut_json.h"
#include "cuts/cuts_errors.h"
#include "s2s/data/frames.h"

namespace s2s::data {
namespace {

/// A request is extended to the recording's end if it ends less than this before it, in seconds.
constexpr double kNearlyWhole = 1e-3;
/// A video's audio is cut or padded with silence to the video's length, whatever its own length is.
constexpr double kVideoTolerance = 1e6;

bool contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

int64_t tolerated_samples(double tolerance_s, int64_t rate_hz) {
  return to_whole(std::ceil(tolerance_s * static_cast<double>(rate_hz)));
}

bool has_video(const Recording& recording) {
  return std::any_of(recording.sources.begin(), recording.sources.end(),
                     [](const AudioSource& source) { return source.video.has_value(); });
}

/// Loads a part of a recording once.
class Load {
 public:
  Load(const Recording& recording, const RecordingPart& part, const std::string& place,
       ResamplerBank& resamplers)
      : recording_(recording), part_(part), place_(place), resamplers_(resamplers) {}

  at::Tensor run() {
    check_request();
    Stretch wanted = part_.stretch;
    if (is_nearly_whole()) wanted.duration_s.reset();
    raw_rate_ = rate_before(recording_.transforms, recording_.sample_rate_hz, place_);
    raw_ = stretch_before(recording_.transforms, wanted, recording_.sample_rate_hz, place_);
    at::Tensor audio_CS = stacked(read_sources());
    if (!recording_.transforms.empty()) audio_CS = transformed(audio_CS);
    return fitted(audio_CS);
  }

 private:
  double asked_duration_s() const {
    return part_.stretch.duration_s.value_or(recording_.duration_s - part_.stretch.offset_s);
  }
  double end_s() const { return part_.stretch.offset_s + asked_duration_s(); }
  std::string name() const {
    return recording_.sources.empty() ? recording_.id : source_name(recording_.sources.front());
  }

  bool is_nearly_whole() const {
    return part_.stretch.duration_s &&
           std::fabs(*part_.stretch.duration_s - recording_.duration_s) <=
               std::max(kNearlyWhole, 1e-9 * recording_.duration_s);
  }

  void check_request() const {
    if (part_.stretch.offset_s > recording_.duration_s) {
      throw cuts_errors::cut_too_long(place_, name(), part_.stretch.offset_s, end_s(),
                                      recording_.duration_s);
    }
    const std::vector<int64_t> known = recording_.all_channels();
    for (const int64_t channel : part_.channels) {
      if (contains(known, channel)) continue;
      throw cuts_errors::channel(place_, name(),
                                 "the recording has no channel " + std::to_string(channel));
    }
  }

  std::vector<at::Tensor> read_sources() {
    std::vector<at::Tensor> rows;
    for (const AudioSource& source : recording_.sources) {
      const bool is_wanted =
          part_.channels.empty() ||
          std::any_of(source.channels.begin(), source.channels.end(),
                      [&](int64_t channel) { return contains(part_.channels, channel); });
      if (is_wanted) rows.push_back(picked(source, read(source)));
    }
    if (rows.empty()) {
      throw cuts_errors::channel(
          place_, name(),
          part_.channels.empty()
              ? "the recording has no sources"
              : "no source has channel " + std::to_string(part_.channels.front()));
    }
    return rows;
  }

  void check_source(const AudioSource& source, const AudioInfo& info) const {
    if (info.sample_rate_hz != raw_rate_ && info.format != "opus") {
      throw cuts_errors::file_sample_rate(place_, source_name(source), info.sample_rate_hz,
                                          raw_rate_);
    }
    const auto named = static_cast<int64_t>(source.channels.size());
    if (info.num_channels != named) {
      throw cuts_errors::channel(place_, source_name(source),
                                 "the file has " + std::to_string(info.num_channels) +
                                     " channels, the manifest names " + std::to_string(named));
    }
  }

  /// Number of samples up to the end that the file's header promises. Throws if that is much later
  /// than the manifest says.
  int64_t rest_of_file(const AudioSource& source, const AudioInfo& info, int64_t first) const {
    const int64_t rest = info.num_promised - first;
    if (has_video(recording_)) return rest;
    const Stretch whole = stretch_before(recording_.transforms, {0, recording_.duration_s},
                                         recording_.sample_rate_hz, place_);
    const int64_t promised = compute_num_samples(*whole.duration_s, info.sample_rate_hz);
    // With transforms the length is checked after them, so twice the tolerance is allowed here.
    const int64_t factor = recording_.transforms.empty() ? 1 : 2;
    if (info.num_samples - promised >
        factor * tolerated_samples(duration_tolerance_s(), info.sample_rate_hz)) {
      throw cuts_errors::duration_mismatch(place_, source_name(source), info.duration_s(),
                                           *whole.duration_s);
    }
    return rest;
  }

  at::Tensor read(const AudioSource& source) const {
    const std::unique_ptr<AudioReader> reader = open_audio(source, place_);
    const AudioInfo& info = reader->info();
    check_source(source, info);
    const int64_t first = compute_num_samples(raw_.offset_s, info.sample_rate_hz);
    const int64_t count = raw_.duration_s
                              ? compute_num_samples(*raw_.duration_s, info.sample_rate_hz)
                              : rest_of_file(source, info, first);
    at::Tensor audio_CS;
    try {
      audio_CS = reader->read(first, count);
    } catch (const std::runtime_error& error) {
      throw cuts_errors::unreadable_audio(place_, source_name(source), error.what());
    }
    const double there_s =
        static_cast<double>(audio_CS.size(1)) / static_cast<double>(info.sample_rate_hz);
    if (audio_CS.size(1) == 0 ||
        (raw_.duration_s && there_s < *raw_.duration_s - duration_tolerance_s())) {
      throw cuts_errors::cut_too_long(place_, source_name(source), part_.stretch.offset_s, end_s(),
                                      info.duration_s());
    }
    return info.sample_rate_hz == raw_rate_ ? audio_CS
                                            : resamplers_(audio_CS, info.sample_rate_hz, raw_rate_);
  }

  /// Returns the rows of the requested channels.
  at::Tensor picked(const AudioSource& source, const at::Tensor& audio_CS) const {
    std::vector<at::Tensor> rows;
    for (size_t i = 0; i < source.channels.size(); ++i) {
      if (part_.channels.empty() || contains(part_.channels, source.channels[i])) {
        rows.push_back(audio_CS[static_cast<int64_t>(i)]);
      }
    }
    return static_cast<int64_t>(rows.size()) == audio_CS.size(0) ? audio_CS : at::stack(rows);
  }

  /// Joins the sources' channels. Sources that end before the longest one, within the tolerance,
  /// are padded with silence.
  at::Tensor stacked(const std::vector<at::Tensor>& sources) const {
    if (sources.size() == 1) return sources.front();
    int64_t longest = 0, channels = 0;
    for (const at::Tensor& rows : sources) {
      longest = std::max(longest, rows.size(1));
      channels += rows.size(0);
    }
    const int64_t allowed = compute_num_samples(duration_tolerance_s(), recording_.sample_rate_hz);
    at::Tensor all_CS = at::zeros({channels, longest}, at::kFloat);
    int64_t row = 0;
    for (size_t i = 0; i < sources.size(); ++i) {
      const at::Tensor& rows = sources[i];
      if (longest - rows.size(1) > allowed) {
        const auto rate = static_cast<double>(raw_rate_);
        throw cuts_errors::duration_mismatch(
            place_, "source " + std::to_string(i) + " of the recording '" + recording_.id + "'",
            static_cast<double>(rows.size(1)) / rate, static_cast<double>(longest) / rate);
      }
      all_CS.narrow(0, row, rows.size(0)).narrow(1, 0, rows.size(1)).copy_(rows);
      row += rows.size(0);
    }
    return all_CS;
  }

  at::Tensor transformed(const at::Tensor& audio_CS) const {
    const auto load_response = [this](const nlohmann::json& manifest,
                                      const std::vector<int64_t>& channels,
                                      std::optional<double> duration_s) {
      return load_impulse_response(manifest, channels, duration_s, place_, resamplers_);
    };
    const TransformContext context = {recording_.sample_rate_hz, place_, fnv1a(recording_.id),
                                      resamplers_, load_response};
    return apply_transforms(recording_.transforms, audio_CS.contiguous(), context);
  }

  at::Tensor fitted(const at::Tensor& audio_CS) const {
    const int64_t expected = compute_num_samples(asked_duration_s(), recording_.sample_rate_hz);
    const int64_t missing = expected - audio_CS.size(1);
    if (missing == 0) return audio_CS;
    const bool video = has_video(recording_);
    const double tolerance_s = video ? kVideoTolerance : duration_tolerance_s();
    const int64_t allowed = tolerated_samples(tolerance_s, recording_.sample_rate_hz);
    const auto rate = static_cast<double>(recording_.sample_rate_hz);
    const double loaded_s = static_cast<double>(audio_CS.size(1)) / rate;
    if (missing > allowed) {
      throw cuts_errors::cut_too_long(place_, name(), part_.stretch.offset_s, end_s(),
                                      part_.stretch.offset_s + loaded_s);
    }
    if (-missing > allowed) {
      throw cuts_errors::duration_mismatch(place_, name(), loaded_s, asked_duration_s());
    }
    if (video && missing > 0) return at::constant_pad_nd(audio_CS, {0, missing});
    return fit_length(audio_CS, expected);
  }

  const Recording& recording_;
  const RecordingPart& part_;
  const std::string& place_;
  ResamplerBank& resamplers_;
  int64_t raw_rate_ = 0;  // before the transforms
  Stretch raw_;
};

/// Returns the index into a signal of `length` samples that is reflected at both ends.
int64_t reflected(int64_t index, int64_t length) {
  if (length == 1) return 0;
  const int64_t period = 2 * (length - 1);
  const int64_t phase = index % period;
  return phase < length ? phase : period - phase;
}

}  // namespace

at::Tensor load_impulse_response(const nlohmann::json& manifest,
                                 const std::vector<int64_t>& channels,
                                 std::optional<double> duration_s, const std::string& place,
                                 ResamplerBank& resamplers) {
  const LineLocation at = {place};
  Leniencies ignored;
  const bool is_cut = manifest.contains("recording");
  const std::string text = (is_cut ? manifest["recording"] : manifest).dump();
  const Recording recording = parse_recording(JsonFields(parse_json_line(text, at), at), ignored);
  Stretch stretch;
  if (is_cut) {
    stretch = {manifest.value("start", 0.0), manifest.value("duration", recording.duration_s)};
  }
  if (duration_s) {
    stretch.duration_s = std::min(*duration_s, stretch.duration_s.value_or(recording.duration_s));
  }
  return load_recording(recording, {stretch, channels}, place, resamplers);
}

double duration_tolerance_s() {
  constexpr double kHalfASecond = 0.5;
  const char* const text = std::getenv("LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE");
  if (text == nullptr) return kHalfASecond;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(seconds >= 0)) throw cuts_errors::tolerance(text);
  return seconds;
}

at::Tensor fit_length(const at::Tensor& audio_CS, int64_t count) {
  const int64_t length = audio_CS.size(1);
  if (length >= count) return audio_CS.narrow(1, 0, count);
  const at::Tensor rows_CS = audio_CS.contiguous();
  at::Tensor fitted_CS = at::empty({rows_CS.size(0), count}, at::kFloat);
  for (int64_t c = 0; c < rows_CS.size(0); ++c) {
    const float* const from = rows_CS.const_data_ptr<float>() + c * length;
    float* const to = fitted_CS.data_ptr<float>() + c * count;
    std::copy_n(from, length, to);
    for (int64_t i = length; i < count; ++i) to[i] = from[reflected(i, length)];
  }
  return fitted_CS;
}

at::Tensor load_recording(const Recording& recording, const RecordingPart& part,
                          const std::string& place, ResamplerBank& resamplers) {
  return Load(recording, part, place, resamplers).run();
}

}  // namespace s2s::data
