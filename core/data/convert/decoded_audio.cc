#include "convert/decoded_audio.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"
#include "base/untrusted.h"
#include "convert/convert_errors.h"
#include "convert/source_files.h"
#include "convert/unread_files.h"
#include "files/pipe_command.h"
#include "files/source_state.h"
#include "s2s/child_process.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

/// Containers of recordings. Playlists and similar formats would read files that they name.
constexpr const char* kContainers =
    "aac,ac3,aiff,amr,amrnb,amrwb,asf,au,avi,caf,eac3,flac,matroska,mov,mp3,mpeg,mpegts,ogg,w64,"
    "wav";
constexpr const char* kMostBytes = "17179869184";  // limit of a decoded file

/// ffmpeg reports its progress twice a second, so a silent one hangs.
constexpr files::CommandLimits kLimits = {
    .silence_s = 120, .most_silences = 60, .output_bytes = int64_t{64} << 20};

/// "file:" prevents that a name is read as an option or a protocol.
std::vector<std::string> words_for(const std::string& decoder, const std::string& from,
                                   const std::string& to) {
  return {decoder,
          "-nostdin",
          "-hide_banner",
          "-loglevel",
          "error",
          "-progress",
          "pipe:1",
          "-protocol_whitelist",
          "file,pipe",
          "-format_whitelist",
          kContainers,
          "-threads",
          "1",
          "-i",
          "file:" + from,
          "-map",
          "0:a:0",
          "-map_metadata",
          "-1",
          "-c:a",
          "flac",
          "-sample_fmt",
          "s16",
          "-f",
          "flac",
          "-fs",
          kMostBytes,
          "-y",
          "file:" + to};
}

void decode(const std::string& from, const std::string& to, const std::string& decoder) {
  make_folders(fs::path(to).parent_path().string());
  AtomicFile audio(to);
  try {
    files::read_program(words_for(decoder, fs::absolute(from).string(), audio.temporary()),
                        kLimits);
  } catch (const Error& error) {
    if (error.id() != "data/pipe") throw;
    const std::string text = error.message();
    const size_t reason = text.find(" failed: ");
    const size_t end = text.rfind("; expected a shell command");
    throw convert_errors::unreadable_audio(
        from, "ffmpeg: " + (reason == text.npos || end == text.npos || end < reason + 9
                                ? text
                                : text.substr(reason + 9, end - reason - 9)));
  }
  std::error_code ignored;
  if (fs::file_size(audio.temporary(), ignored) + 4096 > std::stoull(kMostBytes)) {
    throw convert_errors::unreadable_audio(from, "it is longer than 16 GiB of FLAC");
  }
  audio.commit();
}

}  // namespace

std::string find_decoder() { return is_untrusted() ? "" : find_program("ffmpeg"); }

std::string decoded_folder_of(const std::string& result) {
  std::string stem = result;
  for (const std::string_view ending : {".gz", ".jsonl"}) {
    if (stem.ends_with(ending)) stem = stem.substr(0, stem.size() - ending.size());
  }
  return stem + ".audio";
}

bool is_read(const std::string& path, const ImportOptions& options) {
  return is_audio_name(path) || (!options.decoder.empty() && is_other_audio_name(path));
}

std::string readable_audio(const std::string& path, const ImportOptions& options) {
  if (options.decoder.empty() || !is_other_audio_name(path)) return path;
  uint64_t content = 0;
  try {
    content = files::content_hash_of_file(path);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) {
      throw convert_errors::missing(path, "an audio file");
    }
    throw convert_errors::unreadable_audio(path, error.code().message());
  }
  const fs::path name = fmt::format("{}-{:016x}.flac", fs::path(path).stem().string(), content);
  const std::string decoded = (fs::path(options.decoded_folder) / name).string();
  if (!fs::exists(decoded)) decode(path, decoded, options.decoder);
  return decoded;
}

}  // namespace s2s::convert
