#include "data/data_errors.h"

#include <fmt/format.h>

namespace s2s::data_errors {
namespace {

Error error(const char* name, std::string message) {
  return Error(ExitCode::kData, std::string("data/") + name, std::move(message));
}

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  return all.empty() ? "(none)" : all;
}

}  // namespace

Error frames(double frame_length_s, int64_t sample_rate_hz) {
  return error(
      "frames",
      fmt::format("a frame of {} s at {} Hz is shorter than one sample; expected a positive "
                  "rate and at least one sample a frame; check data.frame_length and the "
                  "sample rates",
                  frame_length_s, sample_rate_hz));
}

Error missing_manifest(const std::string& path) {
  return error("missing-file",
               fmt::format("the manifest '{}' cannot be opened; expected a file of Lhotse cuts "
                           "(.jsonl or .jsonl.gz); check cuts_path, or make a set with "
                           "'s2s-run data synth OUT'",
                           path));
}

Error gzip(const std::string& path, int64_t line, const std::string& reason) {
  return error("gzip", fmt::format("{}:{}: the compressed file is damaged after this line: {}; "
                                   "expected a whole gzip file ('gzip -t' tells); copy it again",
                                   path, line, reason));
}

Error json(const std::string& place, const std::string& reason) {
  return error("json",
               fmt::format("{}: this line is not JSON: {}; expected one JSON object on each "
                           "line; mend or remove the line",
                           place, reason));
}

Error field(const std::string& place, const std::string& name, const std::string& found,
            const std::string& expected) {
  return error("field", fmt::format("{}: '{}' is {}; expected {} as in Lhotse's manifests", place,
                                    name, found, expected));
}

Error not_a_cut(const std::string& place, const std::string& looks_like) {
  return error("not-a-cut",
               fmt::format("{}: this line looks like {}, not like a cut; expected MonoCuts with "
                           "'recording', 'supervisions' and 'custom.target_audio'; make cuts of it "
                           "with lhotse ('lhotse cut simple')",
                           place, looks_like));
}

Error cut_type(const std::string& place, const std::string& type) {
  return error("cut-type", fmt::format("{}: the cut is a {}; expected a MonoCut; save the cuts as "
                                       "MonoCuts ('CutSet.save_audios') first",
                                       place, type));
}

Error source_type(const std::string& place, const std::string& type) {
  return error("source-type", fmt::format("{}: an audio source has the type '{}'; expected 'file'; "
                                          "write the audio to files ('CutSet.save_audios') first",
                                          place, type));
}

Error transforms(const std::string& place, const std::string& recording_id) {
  return error("transforms",
               fmt::format("{}: the recording '{}' asks for transforms while loading; expected "
                           "none; apply them once with 'CutSet.save_audios'",
                           place, recording_id));
}

Error manifest_sample_rate(const std::string& place, const std::string& recording_id,
                           int64_t sample_rate_hz) {
  return error(
      "sample-rate",
      fmt::format("{}: the recording '{}' has sampling_rate {}; expected a positive number "
                  "of hertz; write the rate of the audio file into the manifest",
                  place, recording_id, sample_rate_hz));
}

Error duration(const std::string& place, double duration_s) {
  return error("duration", fmt::format("{}: the duration is {} s; expected more than 0; remove the "
                                       "line or mend the duration",
                                       place, duration_s));
}

Error turn_time(const std::string& place, const Supervision& turn, const std::string& reason) {
  return error(
      "turn-time",
      fmt::format("{}: the turn '{}' is from {} s to {} s: {}; expected times on the cut's "
                  "clock, start at 0 or later; mend or remove the turn",
                  place, turn.id, turn.start_s, turn.end_s(), reason));
}

Error duplicate_id(const std::string& place, const std::string& first_place) {
  return error("duplicate-id",
               fmt::format("{}: the id was used before at {}; expected every cut to have its own; "
                           "rename or remove one of the two",
                           place, first_place));
}

Error empty(const std::vector<std::string>& paths) {
  return error("empty", fmt::format("there is no cut left in {}; expected at least one; check the "
                                    "manifest, and min_duration, max_duration and limit",
                                    listed(paths)));
}

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

Error no_turns(const Cut& cut, const std::vector<std::string>& speakers,
               const std::vector<std::string>& roles) {
  return error(
      "no-turns",
      fmt::format("{} has no turn of {}, its speakers are: {}; expected at least one turn; "
                  "check data.input_roles and data.output_roles, or set allow_no_turns: "
                  "true to train on silence",
                  cut.place(), listed(roles), listed(speakers)));
}

Error no_text(const Cut& cut, const Supervision& turn) {
  return error("no-text", fmt::format("{}: the turn '{}' of '{}' has no 'text'; expected what is "
                                      "said in it; add the text or remove the turn",
                                      cut.place(), turn.id, turn.speaker));
}

Error no_alignment(const Cut& cut, const Supervision& turn, const std::string& option) {
  return error("no-alignment",
               fmt::format("{}: the turn '{}' has no word times ('alignment': {{'word': [...]}}); "
                           "data.{} needs them; add an alignment or set data.{}: turn",
                           cut.place(), turn.id, option, option.substr(0, option.find(':'))));
}

Error missing_wave(const std::string& path) {
  return error("missing-file",
               fmt::format("the audio file '{}' does not exist; expected a recording (WAV, FLAC, "
                           "OGG); check the path",
                           path));
}

Error unreadable_wave(const std::string& path, const std::string& reason) {
  return error("unreadable-audio",
               fmt::format("the audio file '{}' cannot be read: {}; expected a whole WAV, FLAC or "
                           "OGG file; convert it, or copy it again",
                           path, reason));
}

Error empty_wave(const std::string& path) {
  return error("empty-audio", fmt::format("the audio file '{}' has no samples; expected at least "
                                          "one; record it again",
                                          path));
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

}  // namespace s2s::data_errors
