#pragma once
// Watches a rank of a run: records its last collectives, reports its progress to the other ranks,
// finds the missing ranks when a collective fails, and ends a process that hangs.
//
//   FlightRecorder recorder(rendezvous.process(), {.folder = run_folder});
//   world.set_observer(&recorder);          // before groups are made of it
//   trainer.add_observer(...);              // recorder.set_step(n), recorder.set_phase("forward")
//   try { ... } catch (const std::exception& error) { recorder.failed(error.what()); throw; }
//
// (core/docs/guides/parallelism.md)

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "flight/enqueued_works.h"
#include "flight/flight_record.h"
#include "flight/flight_signals.h"
#include "flight/progress_board.h"
#include "s2s/kinds/communicator.h"

namespace s2s {

struct FlightSettings {
  std::string folder;  // folder for flight.RANK.json, written on failure or on request; "": none
  size_t capacity = 2000;                // number of recorded collectives
  std::chrono::milliseconds beat{1000};  // interval of the reports between ranks
  /// Time limit of a collective until `first_step_has_ended` is called; 0: the usual limit.
  std::chrono::milliseconds first_step_timeout{0};
  /// Time after which a step counts as slow and a record with the stacks of all threads is written;
  /// 0: never.
  std::chrono::milliseconds slow_step{0};
};

class FlightRecorder : public CollectiveObserver {
 public:
  /// Starts the watch thread. Removes the record of an earlier run for this rank.
  FlightRecorder(const ProcessPlace& process, FlightSettings settings);
  /// Reports to the other ranks that this rank has ended: without an error, unless `failed` was
  /// called or an exception is being handled.
  ~FlightRecorder() override;
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  /// step: the 1-based step that begins.
  void set_step(int64_t step) { record_.set_step(step); }
  /// From now on, collectives have the usual time limit of the process.
  void first_step_has_ended() { limit_ = process_.timeout; }
  /// phase: a string literal. A rank that makes no progress within the time limit of a collective
  /// is ended. The phases "", "validate", "save" and "start" may take longer.
  void set_phase(const char* phase) { record_.set_phase(phase); }
  /// The ids of the batch of the step, each followed by a newline.
  void set_batch(const std::string& ids) { record_.set_batch(ids); }
  /// Set a function that returns true once the user has asked the run to stop. A rank that then
  /// hangs in a collective writes its record. Call this before the first step.
  void set_stop_probe(std::function<bool()> is_stopping);

  /// Records the error that ends this rank, reports it to the other ranks and writes the record.
  /// `what`: "[id] message".
  void failed(const std::string& what) noexcept;
  /// Writes flight.RANK.json, with the stacks of all threads if asked. Returns its path, or "" when
  /// there is no folder or writing fails.
  std::string write(const std::string& reason, bool with_stacks = false) noexcept;

  void started(const CollectiveRecord& record, const GroupPlace& place) override;
  std::chrono::milliseconds time_limit(std::chrono::milliseconds) const override { return limit_; }
  void finished(const CollectiveRecord& record, bool failed) override;
  void enqueued(const CollectiveRecord& record, std::unique_ptr<CollectiveWork> work) override;
  std::string explain_failure(const CollectiveRecord& record, const GroupPlace& place,
                              const std::string& reason) override;

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  void note_halt(Clock::duration between);
  void look_at_signals();
  void look_at_progress();
  void look_at_uncaught();
  void look_at_slow_step();
  [[noreturn]] void end_process(const char* id, const std::string& what, const std::string& reason);
  RankFlight self() const;
  void say(bool now);
  void become(const char* state, std::string error);
  std::string investigate(const char* id);
  std::string explain(const char* id, const std::vector<RankFlight>& flights);
  std::vector<RankFlight> gather();
  void linger();

  ProcessPlace process_;
  FlightSettings settings_;
  std::atomic<std::chrono::milliseconds> limit_;  // time limit of a collective
  FlightRecord record_;
  std::unique_ptr<EnqueuedWorks> enqueued_ = std::make_unique<EnqueuedWorks>(record_);
  FlightSignals signals_;
  std::unique_ptr<ProgressBoard> board_;  // null: one process

  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable wakes_;
  bool ends_ = false;
  std::string state_ = "running", error_;
  std::vector<RankFlight> silent_;
  std::function<bool()> is_stopping_;
  Clock::time_point failed_at_ = Clock::time_point::max();
  bool has_written_stop_ = false;
  double halted_s_ = 0;  // in this step
  int64_t halted_step_ = 0;
  int64_t slow_step_ = 0;  // the last one; only the watch thread uses it

  std::string host_;
  std::thread watch_;  // last member, because the thread uses the others
};

}  // namespace s2s
