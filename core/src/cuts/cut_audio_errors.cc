#include "cuts/cut_audio_errors.h"

#include <fmt/format.h>

namespace s2s::cut_audio_errors {
namespace {

Error error(const char* name, std::string message) {
  return Error(ExitCode::kData, std::string("data/") + name, std::move(message));
}

}  // namespace

Error no_recording(const Cut& cut) {
  return error("no-recording",
               fmt::format("{} has no 'recording'; expected the user's audio there; "
                           "attach the recordings, features are not read",
                           cut.place()));
}

Error no_target(const Cut& cut) {
  return error("no-target",
               fmt::format("{} has no 'custom.target_audio'; expected the agent's audio there, as "
                           "long as the cut; set cut.target_audio = Recording(...) in lhotse",
                           cut.place()));
}

Error missing_audio(const Cut& cut, const std::string& path) {
  return error("missing-file",
               fmt::format("{}: the audio file '{}' does not exist; expected a path that is right "
                           "from the manifest's folder; restore the file or mend 'source'",
                           cut.place(), path));
}

Error unreadable_audio(const Cut& cut, const std::string& path, const std::string& reason) {
  return error(
      "unreadable-audio",
      fmt::format("{}: the audio file '{}' cannot be read: {}; expected WAV, FLAC, OGG or "
                  "another format of libsndfile; 's2s-run data inspect' lists all such files",
                  cut.place(), path, reason));
}

Error file_sample_rate(const Cut& cut, const std::string& path, int64_t in_file_hz,
                       int64_t in_manifest_hz) {
  return error("sample-rate",
               fmt::format("{}: '{}' has {} Hz, the manifest says {} Hz; expected the same; mend "
                           "sampling_rate (and num_samples) in the manifest",
                           cut.place(), path, in_file_hz, in_manifest_hz));
}

Error channel(const Cut& cut, const std::string& path, const std::string& problem) {
  return error("channel", fmt::format("{}: '{}': {}; expected the channels that the manifest's "
                                      "'sources' name; mend 'channel' or 'channels'",
                                      cut.place(), path, problem));
}

Error cut_too_long(const Cut& cut, const std::string& path, double start_s, double end_s,
                   double available_s) {
  return error(
      "cut-too-long",
      fmt::format("{} needs {:.3f} s to {:.3f} s of '{}', which ends at {:.3f} s; expected "
                  "audio as long as the cut (half a second may be missing); shorten the cut "
                  "or lengthen the file with silence",
                  cut.place(), start_s, end_s, path, available_s));
}

Error duration_mismatch(const Cut& cut, const std::string& path, double in_file_s,
                        double in_manifest_s) {
  return error(
      "duration-mismatch",
      fmt::format("{}: '{}' is {:.3f} s long, the manifest says {:.3f} s; expected the same "
                  "within half a second; write the manifest again from the files",
                  cut.place(), path, in_file_s, in_manifest_s));
}

Error cut_kind(const Cut& cut) {
  return error("cut-type", fmt::format("{} is a multi-channel, padding or mixed cut; expected a "
                                       "MonoCut; save the cuts as MonoCuts ('CutSet.save_audios') "
                                       "first",
                                       cut.place()));
}

Error source_kind(const Cut& cut, const std::string& type) {
  return error("source-type",
               fmt::format("{}: an audio source has the type '{}'; expected 'file'; write the "
                           "audio to files ('CutSet.save_audios') first",
                           cut.place(), type));
}

Error transforms(const Cut& cut, const std::string& recording_id) {
  return error("transforms",
               fmt::format("{}: the recording '{}' asks for transforms while loading; expected "
                           "none; apply them once with 'CutSet.save_audios'",
                           cut.place(), recording_id));
}

}  // namespace s2s::cut_audio_errors
