// What the watch thread of a flight recorder looks at.

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "base/text.h"
#include "comm/comm_errors.h"
#include "flight/flight_recorder.h"
#include "s2s/foreign_text.h"

namespace s2s {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{200};
/// Time limit for a rank to end by itself after its collective has failed.
constexpr std::chrono::seconds kEndGrace{30};
/// When two watch ticks are further apart than this, the process was stopped. (On a busy machine
/// ticks can also be late.)
constexpr std::chrono::seconds kHalt{4};
/// After a stop request, a collective that takes longer than this counts as hanging.
constexpr std::chrono::seconds kStopGrace{2};

/// Phases that may take longer than a step.
bool may_rest(const std::string& phase) {
  return phase.empty() || phase == "validate" || phase == "save" || phase == "start";
}

}  // namespace

/// between: time between two clock reads that should be one tick apart.
void FlightRecorder::note_halt(Clock::duration between) {
  if (between < kHalt) return;
  const int64_t step = record_.movement().step;
  const std::lock_guard lock(mutex_);
  halted_s_ = std::chrono::duration<double>(between).count();
  halted_step_ = step;
}

void FlightRecorder::watch() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // other threads handle the signals of the process
  Clock::time_point next_beat = Clock::now();
  std::unique_lock lock(mutex_);
  while (!ends_) {
    const Clock::time_point before = Clock::now();
    wakes_.wait_for(lock, kTick, [this] { return ends_; });
    lock.unlock();
    note_halt(Clock::now() - before);
    try {
      look_at_uncaught();
      look_at_signals();
      look_at_progress();
      look_at_slow_step();
      if (Clock::now() >= next_beat) {
        say(/*now=*/false);
        next_beat += settings_.beat;
      }
    } catch (const std::exception&) {  // out of memory: the run will report it itself
    }
    lock.lock();
  }
}

void FlightRecorder::look_at_signals() {
  if (const int fatal = signals_.fatal()) {
    const std::string what = fmt::format("signal {} ({})", fatal, ::strsignal(fatal));
    become("failed", what);
    say(/*now=*/true);
    write(what);
    if (board_) board_->wait_for_round(settings_.beat);
    signals_.record_is_written();
  }
  if (signals_.take_request()) {
    const std::string path = write("asked for by SIGUSR2", /*with_stacks=*/true);
    if (!path.empty()) std::fprintf(stderr, "flight record: %s\n", printable_name(path).c_str());
  }
  const FlightRecord::Movement movement = record_.movement();
  if (signals_.is_terminated() && self().state == "running") {
    become("failed", "ended by SIGTERM");
    say(/*now=*/true);
    if (movement.is_in_collective) write("SIGTERM in a collective");
    if (board_) board_->wait_for_round(settings_.beat);
    FlightSignals::end_by_it();
  }
  std::function<bool()> is_stopping;
  {
    const std::lock_guard lock(mutex_);
    if (!has_written_stop_) is_stopping = is_stopping_;
  }
  if (!is_stopping || !movement.is_in_collective || movement.idle < kStopGrace || !is_stopping()) {
    return;
  }
  has_written_stop_ = true;
  write("asked to stop in a collective");
}

/// Ends a rank that makes no progress, in a collective or elsewhere.
void FlightRecorder::look_at_progress() {
  if (!board_) return;
  Clock::time_point failed_at;
  {
    const std::lock_guard lock(mutex_);
    failed_at = failed_at_;
  }
  if (failed_at != Clock::time_point::max()) {
    if (Clock::now() - failed_at > kEndGrace) ::_exit(static_cast<int>(ExitCode::kCommunication));
    return;
  }
  const FlightRecord::Movement movement = record_.movement();
  const milliseconds usual = limit_;
  const auto limit = usual + usual / 4 + milliseconds(1000);
  if (movement.idle > limit && (movement.is_in_collective || !may_rest(movement.phase))) {
    end_process("comm/timeout",
                fmt::format("has made no progress for {:.0f} s", movement.idle.count()), "");
  }
}

/// Writes one record for each step that takes too long. The run goes on.
void FlightRecorder::look_at_slow_step() {
  const FlightRecord::Movement movement = record_.movement();
  const bool is_slow = settings_.slow_step > milliseconds(0) && movement.step > 0 &&
                       movement.step != slow_step_ && !may_rest(movement.phase) &&
                       movement.in_step > settings_.slow_step;
  if (!is_slow) return;
  slow_step_ = movement.step;
  const std::string reason =
      fmt::format("step {} takes longer than {:g} s, in {}", movement.step,
                  std::chrono::duration<double>(settings_.slow_step).count(), movement.phase);
  const std::string path = write(reason, /*with_stacks=*/true);
  if (path.empty()) return;
  const std::string message = fmt::format("rank {}: {}; see: s2s-run launch diagnose {} --stacks",
                                          process_.rank, reason, settings_.folder);
  std::fprintf(stderr, "%s\n", printable(message).c_str());
}

/// A thread of the communication back end has thrown an exception that nobody caught. Back ends
/// watch their collectives and report a failure in this way.
void FlightRecorder::look_at_uncaught() {
  const std::optional<std::string> text = signals_.take_uncaught();
  if (!text) return;
  const std::string first_line = first_line_in(*text);
  const comm_errors::CollectiveFailure failure = comm_errors::failure_of(*text);
  const bool is_of_collective = record_.movement().is_in_collective ||
                                failure != comm_errors::CollectiveFailure::kOther ||
                                text->find("collective") != std::string::npos;
  if (board_ && is_of_collective) {
    end_process(comm_errors::id_of(failure), "lost its communicator", first_line);
  }
  become("failed", "an uncaught exception: " + first_line);
  say(/*now=*/true);
  write("an uncaught exception");
  signals_.record_is_written();
}

}  // namespace s2s
