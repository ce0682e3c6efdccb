#include "shar/shard_notes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <variant>

#include "base/appended_lines.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "cuts/cut_files.h"

namespace s2s::data {
namespace {

void add_recording(const Recording& recording, files::SourceState& state) {
  for (const AudioSource& source : recording.sources) {
    const bool is_file =
        source.type == AudioSource::Type::kFile || source.type == AudioSource::Type::kSharPointer;
    if (is_file) state.add_file(source.source);
    if (source.bytes) state.add(*source.bytes);
  }
}

void add_array(const StoredArray& array, files::SourceState& state) {
  if (array.bytes) state.add(*array.bytes);
  const auto manifest = try_parse_foreign_json(array.manifest.text);
  if (!manifest.is_object()) return;
  const auto& storage = manifest.contains("array") ? manifest["array"] : manifest;
  if (!storage.is_object()) return;
  const auto path = storage.find("storage_path");
  if (path == storage.end() || !path->is_string()) return;
  const auto key = storage.find("storage_key");
  state.add_file(path->get<std::string>());
  if (key == storage.end() || !key->is_string()) return;
  state.add_file(path->get<std::string>() + "/" + key->get<std::string>());
}

}  // namespace

void add_source(const Cut& cut, files::SourceState& state) {
  state.add(to_json(cut));
  if (cut.recording) add_recording(*cut.recording, state);
  if (cut.features) add_array(*cut.features, state);
  for (const auto& [name, value] : cut.custom) {
    if (const auto* const recording = std::get_if<Recording>(&value)) {
      add_recording(*recording, state);
    } else if (const auto* const array = std::get_if<StoredArray>(&value)) {
      add_array(*array, state);
    }
  }
  for (const MixTrack& track : cut.tracks) add_source(*track.cut, state);
}

ShardNotes::~ShardNotes() {
  if (file_ >= 0) close(file_);
}

void ShardNotes::open() {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) throw write_error(path_, "cannot make", errno);
  AppendedLines lines(path_);
  while (const auto line = lines.next()) {
    long long shard = 0;
    unsigned long long state = 0;
    const std::string text(line->text);
    // A line that a killed run left incomplete has no line end; its shard is not finished.
    if (line->is_complete && std::sscanf(text.c_str(), "%lld %llx", &shard, &state) == 2) {
      states_[shard] = state;
    }
  }
}

std::optional<uint64_t> ShardNotes::state_of(int64_t shard) const {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(shard);
  return found == states_.end() ? std::nullopt : std::optional(found->second);
}

void ShardNotes::add(int64_t shard, uint64_t state) {
  const std::lock_guard lock(mutex_);
  // Begins with a line end, because a killed run may have left an incomplete line.
  const std::string line = fmt::format("\n{} {:x}\n", shard, state);
  if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      fsync(file_) != 0) {
    throw write_error(path_, "cannot write", errno);
  }
  states_[shard] = state;
}

void ShardNotes::remove() {
  const std::lock_guard lock(mutex_);
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    throw write_error(path_, "cannot remove", errno);
  }
}

}  // namespace s2s::data
