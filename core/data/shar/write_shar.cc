#include "shar/write_shar.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "s2s/error.h"
#include "s2s/threads.h"
#include "shar/shar_run.h"

namespace s2s::data {
namespace {

/// What the threads share.
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
  /// A thread's end, however it comes.
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
      num_done_ += end - begin;
      const std::lock_guard lock(mutex_);
      ++summary_.kept_shards;
      return;
    }
    SharShardWriter writer(options_.writer, run_.number(shard));
    double duration_s = 0;
    for (int64_t position = begin; position < end; ++position) {
      if (failed_ || stopped()) return;
      duration_s += write_cut(writer, run_.row(position), audio);
      ++num_done_;
    }
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

  double write_cut(SharShardWriter& writer, int64_t row, CutAudio& audio) {
    try {
      const Cut cut = cuts_.cut(row);
      writer.write(cut, audio);
      return cut.duration_s;
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
