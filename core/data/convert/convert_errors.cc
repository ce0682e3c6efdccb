#include "convert/convert_errors.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/io_errors.h"
#include "convert/unread_files.h"
#include "s2s/foreign_text.h"

namespace s2s::convert_errors {
namespace {

std::string shortened(const std::string& text) {
  return text.size() <= 60 ? text : fmt::format("{:.57}...", text);
}

}  // namespace

Error source(const std::string& source, const std::string& reason) {
  return data_error(
      "data/convert-source",
      fmt::format("'{}' cannot be converted: {}; expected a source that 's2s-run data convert "
                  "--help' lists; give --from KIND if the kind is not detected",
                  source, reason));
}

Error no_audio(const std::string& folder) {
  std::string reason = "there are no audio files in it that can be read";
  if (std::filesystem::is_directory(folder)) {
    const std::string unread = convert::unread_text(convert::unread_files(folder), folder);
    if (!unread.empty()) reason += " (" + unread + ")";
  }
  return source(folder, reason);
}

Error other_audio(const std::string& path) {
  return source(path,
                "audio of this format is read where ffmpeg is installed (Debian: apt-get "
                "install ffmpeg; not with --untrusted); elsewhere, convert it first: " +
                    printable(convert::readable_command(path)));
}

Error missing(const std::string& path, const std::string& expected) {
  return data_error(
      "data/missing-file",
      fmt::format("'{}' does not exist; expected {}; check the path", path, expected));
}

Error unreadable_audio(const std::string& path, const std::string& reason) {
  return data_error("data/unreadable-audio",
                    fmt::format("'{}' cannot be read: {}; expected an audio file in a common "
                                "format; fix or remove it, or skip bad files with --skip-bad N",
                                path, reason));
}

Error command(const std::string& place, const Error& error) {
  return Error(error.exit_code(), error.id(), place + ": " + error.message());
}

Error partner(const std::string& path, const std::string& expected) {
  return data_error(
      "data/convert-pair",
      fmt::format("'{}' has no counterpart; expected {} in the same folder; add it, remove the "
                  "file, or give the names of the two speakers with --user and --agent",
                  path, expected));
}

Error ambiguous(const std::string& first, const std::string& second) {
  return data_error("data/convert-pair",
                    fmt::format("'{}' and '{}' have the same name for one speaker; "
                                "expected one file for each; remove one",
                                first, second));
}

Error lengths(const std::string& user, double user_s, const std::string& agent, double agent_s) {
  return data_error("data/convert-lengths",
                    fmt::format("'{}' has {:.3f} s, '{}' has {:.3f} s; expected two recordings of "
                                "one dialogue, equal to half a second; pad the shorter one with "
                                "silence, or cut both to the shorter length with --lengths shorter",
                                user, user_s, agent, agent_s));
}

Error channels(const std::string& path, int64_t found, int64_t wanted) {
  return data_error("data/channel",
                    fmt::format("'{}' has {} channel{}, so there is no channel {}; expected "
                                "the agent and the user on channels of one file; choose with "
                                "--agent-channel and --user-channel",
                                path, found, found == 1 ? "" : "s", wanted));
}

Error not_mono(const std::string& path, int64_t found) {
  return data_error("data/channel",
                    fmt::format("'{}' has {} channels; expected one speaker on one channel; "
                                "mix it to one channel, or convert files that have both "
                                "speakers with --from stereo",
                                path, found));
}

Error sample_rate(const std::string& place, int64_t found_hz, int64_t wanted_hz) {
  return data_error("data/sample-rate",
                    fmt::format("{}: the audio has {} Hz; expected {} Hz as "
                                "--sample-rate says; leave the option out to take each "
                                "file's own",
                                place, found_hz, wanted_hz));
}

Error duration(const std::string& place, double found_s, double written_s) {
  return data_error("data/duration",
                    fmt::format("{}: the duration is {} s, but the audio has {:.3f} s; "
                                "expected the same to half a second; correct the line",
                                place, written_s, found_s));
}

Error transcript(const std::string& place, const std::string& found, const std::string& expected) {
  return data_error("data/transcript",
                    fmt::format("{}: {}; expected {}", place, shortened(found), expected));
}

Error time(const std::string& place, double start_s, double end_s, double audio_s) {
  return data_error("data/turn-time",
                    fmt::format("{}: {:.3f} s to {:.3f} s does not lie in the audio, which ends at "
                                "{:.3f} s; expected times in seconds inside of it; is this the "
                                "transcript of another file?",
                                place, start_s, end_s, audio_s));
}

Error kaldi_line(const std::string& place, const std::string& line, const std::string& expected) {
  return data_error("data/kaldi", fmt::format("{}: '{}'; expected {} as in a Kaldi data directory",
                                              place, shortened(line), expected));
}

Error kaldi_missing(const std::string& place, const std::string& id, const std::string& file) {
  return data_error("data/kaldi",
                    fmt::format("{}: '{}' is not in '{}'; expected a line for it; add it, or "
                                "remove the one here ('fix_data_dir.sh' does)",
                                place, id, file));
}

Error no_recording(const std::string& place, const std::string& id, const std::string& manifest) {
  return data_error("data/no-recording",
                    fmt::format("{}: the recording '{}' is not in '{}'; expected "
                                "recordings for all supervisions; add it, or remove the "
                                "supervisions ('lhotse fix' does)",
                                place, id, manifest));
}

Error duplicate_id(const std::string& place, const std::string& id, const std::string& first) {
  return data_error(
      "data/duplicate-id",
      fmt::format("{}: the id '{}' is already used at {}; expected unique ids; rename one, or "
                  "give --rename-duplicates",
                  place, id, first));
}

Error result_name(const std::string& path) {
  return data_error("data/convert-result",
                    fmt::format("cuts cannot be written to '{}'; expected a name that "
                                "ends in .jsonl or .jsonl.gz",
                                path));
}

Error exists(const std::string& path) {
  return data_error("data/convert-exists", exists_text(path));
}

Error in_use(const std::string& path) {
  return data_error(
      "data/convert-exists",
      fmt::format(
          "'{}' is being written by another process; wait until it ends, or choose another file",
          path));
}

Error empty(const std::string& source) {
  return data_error("data/empty",
                    fmt::format("no cuts are left for '{}'; expected at least one; see 's2s-run "
                                "data convert --help' for supported sources",
                                source));
}

}  // namespace s2s::convert_errors
