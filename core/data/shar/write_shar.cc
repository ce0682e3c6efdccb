#include "shar/write_shar.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "s2s/error.h"
#include "s2s/threads.h"
#include "shar/shar_errors.h"
#include "shar/shard_notes.h"

namespace s2s::data {
namespace {

/// The folder that a run writes to, and its note with which a later run can continue.
class SharRun {
 public:
  /// Creates the folder, or checks what an earlier run of the same command has left.
  /// Errors: [data/shar-out], [io/write].
  SharRun(const CutRows& cuts, const WriteSharOptions& options);

  int64_t num_shards() const { return num_shards_; }
  /// First row of a shard in the order of writing.
  int64_t begin(int64_t shard) const;
  std::optional<int64_t> number(int64_t shard) const;
  bool is_finished(int64_t shard) const;
  /// Row of the source that is written at `position`.
  int64_t row(int64_t position) const;
  /// Notes of what the shards were made of.
  ShardNotes& notes() { return notes_; }
  /// Removes a shard that has to be written again.
  void forget(int64_t shard) const;
  /// Removes the notes of the run, because the set is complete.
  void complete();

 private:
  std::string note_path() const;
  /// Returns nothing if there is no note. Errors: [data/shar-out].
  std::optional<std::string> read_note() const;
  void adopt_folder(const std::string& note) const;
  void remove_shards() const;
  void remove_unfinished() const;

  const WriteSharOptions& options_;
  int64_t num_cuts_;
  int64_t num_shards_;
  ShardNotes notes_;
};

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Settings that have to be equal for a run to continue.
ordered_json note_of(const CutRows& cuts, const WriteSharOptions& options) {
  ordered_json fields = ordered_json::object();
  for (const SharField& field : options.writer.fields) fields[field.name] = field.format;
  return {{"cuts", cuts.size()},
          {"source", cuts.fingerprint()},
          {"fields", fields},
          {"shard_size", options.shard_size},
          {"seed", options.seed ? ordered_json(*options.seed) : ordered_json()},
          {"include_cuts", options.writer.include_cuts},
          {"compress_jsonl", options.writer.compress_jsonl}};
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

SharRun::SharRun(const CutRows& cuts, const WriteSharOptions& options)
    : options_(options),
      num_cuts_(cuts.size()),
      num_shards_(
          options.shard_size == 0 ? 1 : (num_cuts_ + options.shard_size - 1) / options.shard_size),
      notes_(options.writer.folder) {
  std::error_code failed;
  fs::create_directories(options.writer.folder, failed);
  if (failed) throw write_error(options.writer.folder, "cannot make the folder", failed.value());
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

/// Removes files of unfinished shards and partial files of killed runs.
void SharRun::remove_unfinished() const {
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
  notes_.remove();
  std::error_code failed;
  fs::remove(note_path(), failed);
  if (failed) throw write_error(note_path(), "cannot remove", failed.value());
}

/// State that the threads share.
class SharJobs {
 public:
  SharJobs(const CutRows& cuts, const WriteSharOptions& options)
      : cuts_(cuts), options_(options), run_(cuts, options) {
    summary_.skipped = options.left_out;
    summary_.num_values.resize(options.writer.fields.size(), 0);
  }

  WriteSharSummary run() {
    ThreadTeam team([this] { failed_ = true; });
    for (int64_t i = 0; i < options_.num_jobs; ++i) team.start([this] { work(); });
    report(options_.num_jobs);
    team.join();
    summary_.stopped = stopped();
    if (!summary_.stopped) run_.complete();
    return std::move(summary_);
  }

 private:
  /// Records the end of a thread, also by an exception.
  struct Ending {
    SharJobs& jobs;
    ~Ending() {
      const std::lock_guard lock(jobs.mutex_);
      ++jobs.num_ended_;
      jobs.ended_.notify_all();
    }
  };

  bool stopped() const { return options_.stop && options_.stop(); }

  void work() {
    const Ending ending{*this};
    run_operators_on_this_thread();
    CutAudio audio;
    for (int64_t shard = next_shard_++; shard < run_.num_shards() && !failed_ && !stopped();
         shard = next_shard_++) {
      write_shard(shard, audio);
    }
  }

  void write_shard(int64_t shard, CutAudio& audio) {
    const int64_t begin = run_.begin(shard);
    const int64_t end = run_.begin(shard + 1);
    if (run_.is_finished(shard)) {
      const bool is_same = run_.notes().state_of(shard) == source_now(begin, end);
      if (failed_ || stopped()) return;
      if (!is_same) run_.forget(shard);
      const std::lock_guard lock(mutex_);
      ++(is_same ? summary_.kept_shards : summary_.changed_shards);
      if (is_same) {
        num_done_ += end - begin;
        return;
      }
    }
    files::SourceState source;
    SharShardWriter writer(options_.writer, run_.number(shard));
    double duration_s = 0;
    for (int64_t position = begin; position < end; ++position) {
      if (failed_ || stopped()) return;
      duration_s += write_cut(writer, run_.row(position), audio, source);
      ++num_done_;
    }
    run_.notes().add(shard, source.value());
    writer.commit();
    const std::lock_guard lock(mutex_);
    ++summary_.num_shards;
    summary_.num_cuts += writer.num_cuts();
    summary_.num_bytes += writer.num_bytes();
    for (size_t i = 0; i < summary_.num_values.size(); ++i) {
      summary_.num_values[i] += writer.num_values()[i];
    }
    summary_.duration_s += duration_s;
  }

  /// Returns the current state of what the rows are made of. After a stop the value has no meaning.
  uint64_t source_now(int64_t begin, int64_t end) const {
    files::SourceState source;
    for (int64_t position = begin; position < end && !failed_ && !stopped(); ++position) {
      try {
        add_source(cuts_.cut(run_.row(position)), source);
      } catch (const Error& error) {
        source.add(error.what());
      }
    }
    return source.value();
  }

  double write_cut(SharShardWriter& writer, int64_t row, CutAudio& audio,
                   files::SourceState& source) {
    bool is_added = false;
    try {
      const Cut cut = cuts_.cut(row);
      add_source(cut, source);  // before it is read, so that the next run sees a change in between
      is_added = true;
      writer.write(cut, audio);
      return cut.duration_s;
    } catch (const Error& error) {
      if (!is_added) source.add(error.what());
      const std::lock_guard lock(mutex_);
      const bool may_skip = static_cast<int64_t>(summary_.skipped.size()) < options_.skip_bad;
      if (!may_skip || error.id() == "io/write") throw;
      summary_.skipped.emplace_back(error.what());
      return 0;
    }
  }

  void report(int64_t num_threads) {
    constexpr auto kInterval = std::chrono::milliseconds(100);
    std::unique_lock lock(mutex_);
    while (num_ended_ < num_threads) {
      ended_.wait_for(lock, kInterval);
      if (options_.on_progress) options_.on_progress(num_done_);
    }
  }

  const CutRows& cuts_;
  const WriteSharOptions& options_;
  SharRun run_;
  std::atomic<int64_t> next_shard_ = 0;
  std::atomic<int64_t> num_done_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  int64_t num_ended_ = 0;
  WriteSharSummary summary_;
};

}  // namespace

WriteSharSummary write_shar(const CutRows& cuts, const WriteSharOptions& options) {
  return SharJobs(cuts, options).run();
}

}  // namespace s2s::data
