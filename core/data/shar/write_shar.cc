#include "shar/write_shar.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "s2s/error.h"
#include "s2s/threads.h"
#include "shar/shar_run.h"

namespace s2s::data {
namespace {

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
  int64_t next_shard() { return options_.part + options_.num_parts * num_taken_++; }

  void work() {
    const Ending ending{*this};
    run_operators_on_this_thread();
    CutAudio audio;
    for (int64_t shard = next_shard(); shard < run_.num_shards() && !failed_ && !stopped();
         shard = next_shard()) {
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
    for (int64_t position = begin; position < end;) {
      if (failed_ || stopped()) return;
      const int64_t next = std::min(end, position + options_.change.num_cuts);
      std::vector<CutToWrite> cuts;
      while (position < next) cuts.push_back(read_cut(run_.row(position++), source));
      if (options_.change.apply) options_.change.apply(cuts);
      for (const CutToWrite& cut : cuts) duration_s += write_cut(writer, cut, audio);
      num_done_ += static_cast<int64_t>(cuts.size());
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

  CutToWrite read_cut(int64_t row, files::SourceState& source) const {
    CutToWrite out;
    try {
      out.cut = cuts_.cut(row);
      // Before it is read, so that the next run sees a change in between.
      add_source(out.cut, source);
    } catch (const Error& error) {
      source.add(error.what());
      out.error = error;
    }
    return out;
  }

  double write_cut(SharShardWriter& writer, const CutToWrite& cut, CutAudio& audio) {
    try {
      if (cut.error) throw Error(*cut.error);
      writer.write(cut.cut, audio);
      return cut.cut.duration_s;
    } catch (const Error& error) {
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
  std::atomic<int64_t> num_taken_ = 0;
  std::atomic<int64_t> num_done_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  int64_t num_ended_ = 0;
  WriteSharSummary summary_;
};

}  // namespace

int64_t num_own_cuts(const WriteSharOptions& options, int64_t num_cuts) {
  if (options.shard_size == 0) return options.part == 0 ? num_cuts : 0;
  int64_t count = 0;
  for (int64_t begin = options.part * options.shard_size; begin < num_cuts;
       begin += options.num_parts * options.shard_size) {
    count += std::min(options.shard_size, num_cuts - begin);
  }
  return count;
}

WriteSharSummary write_shar(const CutRows& cuts, const WriteSharOptions& options) {
  return SharJobs(cuts, options).run();
}

}  // namespace s2s::data
