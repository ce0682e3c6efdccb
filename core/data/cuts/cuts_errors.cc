#include "cuts/cuts_errors.h"

#include <fmt/format.h>

namespace s2s::cuts_errors {
namespace {

Error error(const char* id, std::string message) {
  return Error(ExitCode::kData, id, std::move(message));
}

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  return all.empty() ? "(none)" : all;
}

}  // namespace

Error frames(double frame_length_s, int64_t sample_rate_hz) {
  return error(
      "data/frames",
      fmt::format("a frame of {} s at {} Hz is shorter than one sample; expected a positive "
                  "rate and at least one sample a frame; check data.frame_length and the "
                  "sample rates",
                  frame_length_s, sample_rate_hz));
}

Error not_a_cut(const std::string& place, const std::string& looks_like) {
  return error("data/not-a-cut",
               fmt::format("{}: this line looks like {}, not like a cut; expected MonoCuts with "
                           "'recording', 'supervisions' and 'custom.target_audio'; make cuts of it "
                           "with lhotse ('lhotse cut simple')",
                           place, looks_like));
}

Error cut_type(const std::string& place, const std::string& type) {
  return error("data/cut-type",
               fmt::format("{}: the cut is a '{}'; expected MonoCut, MultiCut, "
                           "PaddingCut or MixedCut; write the manifest with lhotse",
                           place, type));
}

Error source_type(const std::string& place, const std::string& type) {
  return error("data/source-type",
               fmt::format("{}: an audio source has the type '{}'; expected file, command, url, "
                           "memory, shar or shar_ptr; fix the manifest",
                           place, type));
}

Error manifest_sample_rate(const std::string& place, const std::string& recording_id,
                           int64_t sample_rate_hz) {
  return error(
      "data/sample-rate",
      fmt::format("{}: the recording '{}' has sampling_rate {}; expected a positive number "
                  "of hertz; write the rate of the audio file into the manifest",
                  place, recording_id, sample_rate_hz));
}

Error duration(const std::string& place, double duration_s) {
  return error("data/duration",
               fmt::format("{}: the duration is {} s; expected more than 0; remove the "
                           "line or fix the duration",
                           place, duration_s));
}

Error turn_time(const std::string& place, const Supervision& turn, const std::string& reason) {
  return error(
      "data/turn-time",
      fmt::format("{}: the turn '{}' is from {} s to {} s: {}; expected times on the cut's "
                  "clock, start at 0 or later; fix or remove the turn",
                  place, turn.id, turn.start_s, turn.end_s(), reason));
}

Error duplicate_id(const std::string& place, const std::string& first_place) {
  return error("data/duplicate-id",
               fmt::format("{}: the id was used before at {}; expected every cut to have its own; "
                           "rename or remove one of the two",
                           place, first_place));
}

Error audio_in_memory(const Cut& cut) {
  return error("data/in-memory",
               fmt::format("{} holds its audio in memory, which a manifest cannot; "
                           "expected audio in files or in Shar; save the audio first",
                           cut.place()));
}

Error operation(const Cut& cut, const std::string& operation, const std::string& reason) {
  return error("data/cut-operation",
               fmt::format("{}: '{}' cannot be done: {}; expected what Lhotse's "
                           "operation of that name expects; leave such cuts out",
                           cut.place(), operation, reason));
}

Error empty(const std::vector<std::string>& paths) {
  return error("data/empty",
               fmt::format("there is no cut left in {}; expected at least one; check the "
                           "manifest, and min_duration, max_duration and limit",
                           listed(paths)));
}

}  // namespace s2s::cuts_errors
