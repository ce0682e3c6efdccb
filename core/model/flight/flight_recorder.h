#pragma once
// Watches over a rank of a run: remembers its last collectives, tells the other ranks how far it
// is, finds out who is missing when a collective fails, and ends a process that hangs.
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

#include "flight/flight_record.h"
#include "flight/flight_signals.h"
#include "flight/progress_board.h"
#include "s2s/kinds/communicator.h"

namespace s2s {

struct FlightSettings {
  std::string
      folder;  // for flight.RANK.json, written when the run fails or somebody asks; "": none
  size_t capacity = 2000;                // collectives
  std::chrono::milliseconds beat{1000};  // how often ranks hear of each other
  /// How long a collective may take until `first_step_has_ended`; 0: as long as later ones.
  std::chrono::milliseconds first_step_timeout{0};
};

class FlightRecorder : public CollectiveObserver {
 public:
  /// Starts the watch. What an earlier run left in the folder under this rank is removed.
  FlightRecorder(const ProcessPlace& process, FlightSettings settings);
  /// Tells the others that this rank has ended: without an error, unless `failed` was called or an
  /// exception is under way.
  ~FlightRecorder() override;
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  /// step: 1-based, the one that begins.
  void set_step(int64_t step) { record_.set_step(step); }
  /// From now on collectives have the process's usual limit.
  void first_step_has_ended() { limit_ = process_.timeout; }
  /// phase: a literal. A rank that does not move in a phase for longer than a collective may take
  /// is ended; "", "validate", "save" and "start" may take longer.
  void set_phase(const char* phase) { record_.set_phase(phase); }
  /// True once the user asked the run to stop; a rank that then hangs in a collective writes its
  /// record. Set it before the first step.
  void set_stop_probe(std::function<bool()> is_stopping);

  /// An error ends this rank: told to the others and written. `what`: "[id] message".
  void failed(const std::string& what) noexcept;
  /// Writes flight.RANK.json. Returns its path, "" when there is no folder or it cannot be written.
  std::string write(const std::string& reason) noexcept;

  void started(const CollectiveRecord& record, const GroupPlace& place) override;
  std::chrono::milliseconds time_limit(std::chrono::milliseconds) const override { return limit_; }
  void finished(const CollectiveRecord& record, bool failed) override;
  std::string explain_failure(const CollectiveRecord& record, const GroupPlace& place,
                              const std::string& reason) override;

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  void note_halt(Clock::duration between);
  void look_at_signals();
  void look_at_progress();
  void look_at_uncaught();
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
  std::atomic<std::chrono::milliseconds> limit_;  // of a collective
  FlightRecord record_;
  FlightSignals signals_;
  std::unique_ptr<ProgressBoard> board_;  // null: one process

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable wakes_;
  bool ends_ = false;
  std::string state_ = "running", error_;
  std::vector<RankFlight> silent_;
  std::function<bool()> is_stopping_;
  Clock::time_point failed_at_ = Clock::time_point::max();
  bool has_written_stop_ = false;
  double halted_s_ = 0;  // in this step:
  int64_t halted_step_ = 0;

  std::string host_;
  std::thread watch_;  // the last member: it uses the others
};

}  // namespace s2s
