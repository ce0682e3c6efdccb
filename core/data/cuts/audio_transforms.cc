#include "cuts/audio_transforms.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "audio/effects.h"
#include "audio/random_room.h"
#include "audio/tempo.h"
#include "base/foreign_json.h"
#include "base/whole_number.h"
#include "cuts/cuts_errors.h"
#include "s2s/data/frames.h"

namespace s2s::data {
namespace {

using nlohmann::json;

constexpr int64_t kNarrowBandHz = 8000;
constexpr double kEarlySeconds = 0.05;

/// Returns a transform's arguments. Errors: std::exception with the reason.
json arguments(const AudioTransform& transform) {
  return parse_foreign_json(transform.kwargs.text);
}

double factor_of(const AudioTransform& transform) {
  const double factor = arguments(transform).at("factor").get<double>();
  if (transform.name != "Volume" && !(factor > 0)) {
    throw std::runtime_error("'factor' is not more than 0");
  }
  return factor;
}

/// Number of samples after a change of speed. Source: lhotse perturb_num_samples, which rounds a
/// half up if the factor is at least 1, and down otherwise.
int64_t perturbed(int64_t num_samples, double factor) {
  const double exact = round_time(static_cast<double>(num_samples) / factor);
  const double whole = std::floor(exact);
  const double rest = exact - whole;
  return static_cast<int64_t>(whole) + (rest > 0.5 || (rest == 0.5 && factor >= 1) ? 1 : 0);
}

Stretch before_speed(const Stretch& wanted, double factor, int64_t rate) {
  const auto mapped = [&](double time_s) {
    return static_cast<double>(perturbed(compute_num_samples(time_s, rate), 1 / factor)) /
           static_cast<double>(rate);
  };
  Stretch before = {mapped(wanted.offset_s)};
  if (wanted.duration_s) before.duration_s = mapped(*wanted.duration_s);
  return before;
}

Stretch before_resampling(const Stretch& wanted, int64_t from, int64_t to) {
  if (from == to) return wanted;
  const auto mapped = [&](double time_s) {
    return static_cast<double>(compute_num_samples(time_s, from)) / static_cast<double>(from);
  };
  Stretch before = {mapped(wanted.offset_s)};
  if (wanted.duration_s) before.duration_s = mapped(*wanted.duration_s);
  return before;
}

int64_t rate_argument(const json& arguments, const char* name) {
  // As in lhotse, which calls int().
  const auto rate = static_cast<int64_t>(arguments.at(name).get<double>());
  if (rate <= 0) throw std::runtime_error(std::string("'") + name + "' is not more than 0");
  return rate;
}

Stretch one_before(const AudioTransform& transform, const Stretch& wanted, int64_t rate) {
  if (transform.name == "Speed" || transform.name == "Tempo") {
    return before_speed(wanted, factor_of(transform), rate);
  }
  if (transform.name != "Resample") return wanted;
  const json given = arguments(transform);
  return before_resampling(wanted, rate_argument(given, "source_sampling_rate"),
                           rate_argument(given, "target_sampling_rate"));
}

/// Runs `work` and converts its exceptions to an error that names the transform.
template <class Work>
auto of_transform(const AudioTransform& transform, const std::string& place, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw cuts_errors::at_place(place, error);
  } catch (const c10::Error& error) {
    throw cuts_errors::transform(place, transform, error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw cuts_errors::transform(place, transform, error.what());
  }
}

at::Tensor change_speed(const at::Tensor& audio_CS, double factor, const TransformContext& with) {
  const int64_t from = to_whole(std::nearbyint(static_cast<double>(with.sample_rate_hz) * factor));
  return with.resamplers(audio_CS, from, with.sample_rate_hz);
}

at::Tensor narrow_band(at::Tensor audio_CS, const json& given, const TransformContext& with) {
  const auto codec = given.at("codec").get<std::string>();
  if (codec != "mulaw") throw std::runtime_error("the codec '" + codec + "' is not supported");
  const int64_t rate = rate_argument(given, "source_sampling_rate");
  const int64_t length = audio_CS.numel();
  const bool restores = given.at("restore_orig_sr").get<bool>();
  audio_CS = through_mu_law(with.resamplers(audio_CS, rate, kNarrowBandHz));
  if (!restores) return audio_CS;
  audio_CS = with.resamplers(audio_CS, kNarrowBandHz, rate);
  // As numpy.resize, which repeats a response that is too short from its beginning.
  if (audio_CS.numel() != length) {
    const at::Tensor flat = audio_CS.reshape(-1);
    audio_CS = flat.repeat((length + flat.numel() - 1) / flat.numel()).narrow(0, 0, length);
    audio_CS = audio_CS.unsqueeze(0);
  }
  return audio_CS;
}

at::Tensor random_room_response(const json& given, const TransformContext& with) {
  RandomRoom room;
  room.sample_rate_hz = given.value("sr", room.sample_rate_hz);
  room.max_t60_s = given.value("max_T60", room.max_t60_s);
  room.alpha = given.value("alpha", room.alpha);
  room.a = given.value("a", room.a);
  room.b = given.value("b", room.b);
  room.tau = given.value("tau", room.tau);
  const auto seed = [&](const char* name, uint64_t otherwise) {
    const auto found = given.find(name);
    return found == given.end() || found->is_null() ? otherwise : found->get<uint64_t>();
  };
  room.room_seed = seed("room_seed", with.seed);
  room.source_seed = seed("source_seed", with.seed + 1);
  room.torch_seed = room.source_seed;
  return random_response(room);
}

at::Tensor reverberated(const at::Tensor& audio_CS, const json& given,
                        const TransformContext& with) {
  const bool keep_power = given.value("normalize_output", true);
  const std::vector<int64_t> channels = given.value("rir_channels", std::vector<int64_t>{0});
  const auto response = given.find("rir");
  if (response != given.end() && !response->is_null()) {
    std::optional<double> duration_s;
    if (given.value("early_only", false)) duration_s = kEarlySeconds;
    return reverberate(audio_CS, with.load_response(*response, channels, duration_s), keep_power);
  }
  const auto generator = given.find("rir_generator");
  if (generator == given.end() || generator->is_null()) {
    throw std::runtime_error("neither 'rir' nor 'rir_generator' is given");
  }
  return reverberate(audio_CS, random_room_response(*generator, with), keep_power);
}

at::Tensor apply(const AudioTransform& transform, const at::Tensor& audio_CS,
                 const TransformContext& with) {
  const std::string& name = transform.name;
  const json given = arguments(transform);
  if (name == "Resample") {
    return with.resamplers(audio_CS, rate_argument(given, "source_sampling_rate"),
                           rate_argument(given, "target_sampling_rate"));
  }
  if (name == "Speed") return change_speed(audio_CS, factor_of(transform), with);
  if (name == "Tempo") return change_tempo(audio_CS, factor_of(transform), with.sample_rate_hz);
  if (name == "Volume") return change_volume(audio_CS, factor_of(transform));
  if (name == "ReverbWithImpulseResponse") return reverberated(audio_CS, given, with);
  if (name == "LoudnessNormalization") {
    return normalize_loudness(audio_CS, given.at("target").get<double>(), with.sample_rate_hz);
  }
  if (name == "Narrowband") return narrow_band(audio_CS, given, with);
  if (name == "Clipping") {
    return clip_amplitude(audio_CS, {given.value("hard", false), given.value("gain_db", 0.0),
                                     given.value("normalize", true)});
  }
  if (name == "Compress") {
    return through_codec(audio_CS, with.sample_rate_hz, given.at("codec").get<std::string>(),
                         given.at("compression_level").get<double>());
  }
  throw std::runtime_error("it is not supported");
}

}  // namespace

Stretch stretch_before(const std::vector<AudioTransform>& transforms, const Stretch& wanted,
                       int64_t sample_rate_hz, const std::string& place) {
  Stretch stretch = wanted;
  for (size_t i = transforms.size(); i-- > 0;) {
    stretch = of_transform(transforms[i], place,
                           [&] { return one_before(transforms[i], stretch, sample_rate_hz); });
  }
  return stretch;
}

int64_t rate_before(const std::vector<AudioTransform>& transforms, int64_t sample_rate_hz,
                    const std::string& place) {
  int64_t rate = sample_rate_hz;
  for (size_t i = transforms.size(); i-- > 0;) {
    const AudioTransform& transform = transforms[i];
    if (transform.name != "Resample" && transform.name != "Narrowband") continue;
    rate = of_transform(transform, place, [&] {
      return rate_argument(arguments(transform), "source_sampling_rate");
    });
  }
  return rate;
}

at::Tensor apply_transforms(const std::vector<AudioTransform>& transforms, at::Tensor audio_CS,
                            const TransformContext& context) {
  for (const AudioTransform& transform : transforms) {
    audio_CS =
        of_transform(transform, context.place, [&] { return apply(transform, audio_CS, context); });
  }
  return audio_CS;
}

Recording resampled(const Recording& recording, int64_t sample_rate_hz) {
  Recording result = recording;
  if (recording.sample_rate_hz == sample_rate_hz) return result;
  result.transforms.push_back(
      {"Resample",
       {fmt::format(R"({{"source_sampling_rate":{},"target_sampling_rate":{}}})",
                    recording.sample_rate_hz, sample_rate_hz)}});
  result.num_samples = compute_num_samples(recording.duration_s, sample_rate_hz);
  result.duration_s = static_cast<double>(result.num_samples) / static_cast<double>(sample_rate_hz);
  result.sample_rate_hz = sample_rate_hz;
  return result;
}

}  // namespace s2s::data
