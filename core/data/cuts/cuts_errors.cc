#include "cuts/cuts_errors.h"

#include <fmt/format.h>

namespace s2s::cuts_errors {

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  return all.empty() ? "(none)" : all;
}

Error frames(double frame_length_s, int64_t sample_rate_hz) {
  return data_error(
      "data/frames",
      fmt::format("a frame of {} s at {} Hz is shorter than one sample; expected a positive "
                  "rate and at least one sample a frame; check data.frame_length and the "
                  "sample rates",
                  frame_length_s, sample_rate_hz));
}

Error not_a_cut(const std::string& place, const std::string& looks_like) {
  return data_error("data/not-a-cut",
                    fmt::format("{}: this line looks like {}, not like a cut; expected MonoCuts "
                                "with 'recording', 'supervisions' and 'custom.target_audio'; "
                                "convert it to cuts with lhotse ('lhotse cut simple')",
                                place, looks_like));
}

Error cut_type(const std::string& place, const std::string& type) {
  return data_error("data/cut-type",
                    fmt::format("{}: the cut is a '{}'; expected MonoCut, MultiCut, "
                                "PaddingCut or MixedCut; write the manifest with lhotse",
                                place, type));
}

Error source_type(const std::string& place, const std::string& type) {
  return data_error(
      "data/source-type",
      fmt::format("{}: an audio source has the type '{}'; expected file, command, url, "
                  "memory, shar or shar_ptr; fix the manifest",
                  place, type));
}

Error manifest_sample_rate(const std::string& place, const std::string& recording_id,
                           int64_t sample_rate_hz) {
  return data_error(
      "data/sample-rate",
      fmt::format("{}: the recording '{}' has sampling_rate {}; expected a positive number "
                  "of hertz; write the rate of the audio file into the manifest",
                  place, recording_id, sample_rate_hz));
}

Error duration(const std::string& place, double duration_s) {
  return data_error("data/duration",
                    fmt::format("{}: the duration is {} s; expected more than 0; remove the "
                                "line or fix the duration",
                                place, duration_s));
}

Error turn_time(const std::string& place, const Supervision& turn, const std::string& reason) {
  return data_error(
      "data/turn-time",
      fmt::format("{}: the turn '{}' is from {} s to {} s: {}; expected times relative to the cut, "
                  "starting at 0 or later; fix or remove the turn",
                  place, turn.id, turn.start_s, turn.end_s(), reason));
}

Error duplicate_id(const std::string& place, const std::string& first_place) {
  return data_error("data/duplicate-id",
                    fmt::format("{}: the id is already used at {}; expected unique ids; rename or "
                                "remove one of the two cuts",
                                place, first_place));
}

Error operation(const Cut& cut, const std::string& operation, const std::string& reason) {
  return data_error("data/cut-operation",
                    fmt::format("{}: '{}' failed: {}; expected the input that Lhotse's operation "
                                "of this name requires; remove such cuts",
                                cut.place(), operation, reason));
}

Error empty(const std::vector<std::string>& paths) {
  return data_error("data/empty",
                    fmt::format("no cuts are left in {}; expected at least one; check the "
                                "manifest, and min_duration, max_duration and limit",
                                listed(paths)));
}

Error no_recording(const Cut& cut) {
  return data_error("data/no-recording",
                    fmt::format("{} has no 'recording'; expected the user's audio there; attach "
                                "the recordings; features are not read",
                                cut.place()));
}

Error no_target(const Cut& cut) {
  return data_error(
      "data/no-target",
      fmt::format("{} has no 'custom.target_audio'; expected the agent's audio there, as "
                  "long as the cut; set cut.target_audio = Recording(...) in lhotse",
                  cut.place()));
}

Error endless(const Cut& cut) {
  return data_error(
      "data/too-long",
      fmt::format("{} lasts {:g} s; expected at most a day; fix its 'duration', or remove the cut",
                  cut.place(), cut.duration_s));
}

Error no_custom(const Cut& cut, const std::string& name) {
  return data_error(
      "data/no-custom-audio",
      fmt::format("{} has no recording 'custom.{}'; expected one; attach it in lhotse (cut.{} "
                  "= Recording(...)), or name another field",
                  cut.place(), name, name));
}

Error at_place(const std::string& place, const Error& cause) {
  if (cause.message().starts_with(place)) return cause;
  return Error(cause.exit_code(), cause.id(), place + ": " + cause.message());
}

Error missing_audio(const std::string& place, const std::string& path) {
  return data_error(
      "data/missing-file",
      fmt::format("{}: the audio file '{}' does not exist; expected a path relative to the "
                  "manifest's folder, or an absolute path; restore the file or fix 'source'",
                  place, path));
}

Error unreadable_audio(const std::string& place, const std::string& path,
                       const std::string& reason) {
  return data_error(
      "data/unreadable-audio",
      fmt::format("{}: the audio file '{}' cannot be read: {}; expected WAV, FLAC, OGG or "
                  "another format of libsndfile; 's2s-run data inspect' lists all such files",
                  place, path, reason));
}

Error file_sample_rate(const std::string& place, const std::string& path, int64_t in_file_hz,
                       int64_t in_manifest_hz) {
  return data_error("data/sample-rate",
                    fmt::format("{}: '{}' has {} Hz, but the manifest says {} Hz; expected the "
                                "same rate; fix sampling_rate (and num_samples) in the manifest",
                                place, path, in_file_hz, in_manifest_hz));
}

Error channel(const std::string& place, const std::string& path, const std::string& problem) {
  return data_error("data/channel",
                    fmt::format("{}: '{}': {}; expected the channels that the manifest's "
                                "'sources' name; fix 'channel' or 'channels'",
                                place, path, problem));
}

Error cut_too_long(const std::string& place, const std::string& path, double start_s, double end_s,
                   double available_s) {
  return data_error("data/cut-too-long",
                    fmt::format("{} needs {:.3f} s to {:.3f} s of '{}', which ends at {:.3f} s; "
                                "expected audio as long as the cut (up to half a second may be "
                                "missing); shorten the cut, or pad the file with silence",
                                place, start_s, end_s, path, available_s));
}

Error duration_mismatch(const std::string& place, const std::string& path, double in_file_s,
                        double in_manifest_s) {
  return data_error(
      "data/duration-mismatch",
      fmt::format("{}: '{}' is {:.3f} s long, but the manifest says {:.3f} s; expected the same "
                  "within half a second; create the manifest again from the files",
                  place, path, in_file_s, in_manifest_s));
}

Error source_kind(const std::string& place, const std::string& type, const std::string& source) {
  const bool is_url = type == "url";
  return data_error(
      "data/source-type",
      fmt::format(
          "{}: the audio source '{}' has the type '{}', {}; expected a file, a command, or "
          "audio out of a Shar directory; {}",
          place, source, type,
          is_url ? "and training downloads nothing"
                 : "a placeholder for audio in a tar that was not opened with the cuts",
          is_url ? "download it first, or write {\"type\":\"command\",\"source\":\"curl -s URL\"}"
                 : "open the whole directory with shar_path"));
}

Error transform(const std::string& place, const AudioTransform& transform,
                const std::string& reason) {
  return data_error(
      "data/transforms",
      fmt::format("{}: the transform {} with {} cannot be applied: {}; expected Resample, Speed, "
                  "Tempo, Volume, ReverbWithImpulseResponse, LoudnessNormalization, Narrowband "
                  "(mulaw), Clipping or Compress with Lhotse's arguments; apply others once with "
                  "'CutSet.save_audios'",
                  place, transform.name, transform.kwargs.text, reason));
}

Error mix(const std::string& place, const std::string& problem) {
  return data_error("data/mix",
                    fmt::format("{}: the mix cannot be made: {}; expected tracks of one rate, with "
                                "one channel or the same number of channels, and one track without "
                                "'snr'; fix the tracks, or resample the cuts before they are mixed",
                                place, problem));
}

Error tolerance(const std::string& value) {
  return data_error(
      "data/audio-tolerance",
      fmt::format("LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE is '{}'; expected seconds, 0 or "
                  "more; unset it for half a second",
                  value));
}

}  // namespace s2s::cuts_errors
