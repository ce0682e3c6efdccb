#include "shar/shar_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "shar/shar_errors.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Settings that have to be equal for a run to continue.
ordered_json note_of(const CutRows& cuts, const WriteSharOptions& options) {
  ordered_json fields = ordered_json::object();
  for (const SharField& field : options.writer.fields) fields[field.name] = field.format;
  ordered_json note = {{"cuts", cuts.size()},
                       {"source", cuts.fingerprint()},
                       {"fields", fields},
                       {"shard_size", options.shard_size},
                       {"seed", options.seed ? ordered_json(*options.seed) : ordered_json()},
                       {"include_cuts", options.writer.include_cuts},
                       {"compress_jsonl", options.writer.compress_jsonl}};
  if (!options.change.name.empty()) note["change"] = options.change.name;
  return note;
}

std::string difference(const ordered_json& ours, const ordered_json& theirs) {
  for (const auto& [key, value] : ours.items()) {
    const ordered_json other = theirs.is_object() ? theirs.value(key, ordered_json()) : nullptr;
    if (value != other) {
      return key == "source" ? "the source has changed"
                             : fmt::format("{}: {} there, {} now", key, other.dump(), value.dump());
    }
  }
  return "";
}

/// "cuts.000012.jsonl.gz", "recording.000012.tar.idx"
bool is_numbered_shard(std::string_view name) {
  if (name.ends_with(".idx")) name.remove_suffix(4);
  for (const std::string_view ending : {".jsonl.gz", ".jsonl", ".tar"}) {
    if (!name.ends_with(ending)) continue;
    name.remove_suffix(ending.size());
    const size_t dot = name.rfind('.');
    return dot != name.npos && dot > 0 && name.size() - dot == 7 &&
           name.find_first_not_of("0123456789", dot + 1) == name.npos;
  }
  return false;
}

/// Keeps other processes from starting in a folder, where the file system has locks.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : folder_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ >= 0) flock(folder_, LOCK_EX);
  }
  ~FolderLock() {
    if (folder_ >= 0) close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

}  // namespace

SharRun::SharRun(const CutRows& cuts, const WriteSharOptions& options)
    : options_(options),
      num_cuts_(cuts.size()),
      num_shards_(
          options.shard_size == 0 ? 1 : (num_cuts_ + options.shard_size - 1) / options.shard_size),
      notes_(options.writer.folder) {
  std::error_code failed;
  fs::create_directories(options.writer.folder, failed);
  if (failed) throw write_error(options.writer.folder, "cannot make the folder", failed.value());
  const FolderLock lock(options.writer.folder);
  if (options.force) remove_shards();
  adopt_folder(note_of(cuts, options).dump());
  notes_.open();
}

std::string SharRun::note_path() const { return options_.writer.folder + "/.s2s-shar.json"; }

std::optional<std::string> SharRun::read_note() const {
  try {
    return read_small_file(note_path(), kConfigurationBytes);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return std::nullopt;
    throw shar_errors::folder_in_use(options_.writer.folder,
                                     fs::path(note_path()).filename().string());
  }
}

void SharRun::adopt_folder(const std::string& note) const {
  const std::optional<std::string> there = read_note();
  // A part without shards may come when the others have finished.
  if (!there && options_.num_parts > 1 && options_.part >= num_shards_) return;
  if (!there) {
    remove_partial_files(options_.writer.folder);  // left by a note that was not finished
    for (const auto& entry : fs::directory_iterator(options_.writer.folder)) {
      throw shar_errors::folder_in_use(options_.writer.folder, entry.path().filename().string());
    }
    write_file_atomically(note_path(), note);
    return;
  }
  const ordered_json theirs = try_parse_foreign_json<ordered_json>(*there);
  const std::string differs = difference(parse_foreign_json<ordered_json>(note), theirs);
  if (!differs.empty()) throw shar_errors::other_settings(options_.writer.folder, differs);
  remove_unfinished();
}

void SharRun::remove_shards() const {
  const auto remove = [](const fs::path& path) {
    std::error_code failed;
    fs::remove(path, failed);
    if (failed) throw write_error(path.string(), "cannot remove", failed.value());
  };
  for (const auto& entry : fs::directory_iterator(options_.writer.folder)) {
    if (is_numbered_shard(entry.path().filename().string())) remove(entry.path());
  }
  remove(note_path());
  remove(notes_.path());
}

/// Removes files of unfinished shards and partial files of killed runs. Other processes may be
/// writing shards that are not our own.
void SharRun::remove_unfinished() const {
  if (options_.num_parts > 1) {
    remove_partial_files(options_.writer.folder);
    for (int64_t shard = options_.part; shard < num_shards_; shard += options_.num_parts) {
      if (!is_finished(shard)) forget(shard);
    }
    return;
  }
  std::set<std::string> keep = {note_path(), notes_.path()};
  for (int64_t shard = 0; shard < num_shards_; ++shard) {
    if (!is_finished(shard)) continue;
    for (const std::string& path : shard_files(options_.writer, number(shard))) {
      keep.insert(path);
      keep.insert(path + ".idx");
    }
  }
  for (const auto& entry : fs::directory_iterator(options_.writer.folder)) {
    const std::string path = options_.writer.folder + "/" + entry.path().filename().string();
    std::error_code ignored;  // writing the file again gives the reason
    if (!keep.contains(path) && entry.is_regular_file()) fs::remove(entry.path(), ignored);
  }
}

int64_t SharRun::begin(int64_t shard) const {
  return shard == num_shards_ ? num_cuts_ : shard * options_.shard_size;
}

std::optional<int64_t> SharRun::number(int64_t shard) const {
  if (options_.shard_size == 0) return std::nullopt;
  return shard;
}

bool SharRun::is_finished(int64_t shard) const {
  const auto paths = shard_files(options_.writer, number(shard));
  return std::all_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return fs::exists(path); });
}

int64_t SharRun::row(int64_t position) const {
  const auto& order = options_.order;
  return order.empty() ? position : order[static_cast<size_t>(position)];
}

void SharRun::forget(int64_t shard) const {
  for (const std::string& path : shard_files(options_.writer, number(shard))) {
    std::error_code failed;
    fs::remove(path, failed);
    if (failed) throw write_error(path, "cannot remove", failed.value());
  }
}

void SharRun::complete() {
  for (int64_t shard = 0; shard < num_shards_; ++shard) {
    if (!is_own(shard) && !is_finished(shard)) return;
  }
  notes_.remove();
  std::error_code failed;
  fs::remove(note_path(), failed);
  if (failed) throw write_error(note_path(), "cannot remove", failed.value());
}

}  // namespace s2s::data
