#include "flight/flight_recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/machine.h"
#include "base/text.h"
#include "comm/comm_errors.h"
#include "flight/thread_stacks.h"
#include "s2s/foreign_text.h"
#include "s2s/threads.h"

namespace s2s {
namespace {

using std::chrono::milliseconds;

/// Maximum number of other ranks whose reports a rank reads per second.
constexpr int64_t kRanksPerSecond = 500;
/// Number of collectives per group in a report to other ranks.
constexpr size_t kReportedOfEachGroup = 4;

std::string file_of(const std::string& folder, int64_t rank) {
  return (std::filesystem::path(folder) / fmt::format("flight.{}.json", rank)).string();
}

bool is_final(const RankFlight& flight) { return flight.state != "running"; }

std::optional<RankFlight> parsed(const std::string& text) {
  try {
    return parse_flight(text);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

FlightRecorder::FlightRecorder(const ProcessPlace& process, FlightSettings settings)
    : process_(process),
      settings_(std::move(settings)),
      limit_(settings_.first_step_timeout > milliseconds(0) ? settings_.first_step_timeout
                                                            : process.timeout),
      record_(settings_.capacity),
      host_(host_name()) {
  std::error_code ignored;
  if (!settings_.folder.empty()) {
    std::filesystem::remove(file_of(settings_.folder, process.rank), ignored);
  }
  if (process.store != nullptr) {
    settings_.beat = std::max(settings_.beat, milliseconds(1000 * process.size / kRanksPerSecond));
    board_ =
        std::make_unique<ProgressBoard>(*process.store, process.rank, process.size, settings_.beat);
  }
  say(/*now=*/true);
  watch_ = start_thread([this] { watch(); });
}

FlightRecorder::~FlightRecorder() {
  enqueued_.reset();
  {
    const std::lock_guard lock(mutex_);
    if (state_ == "running") {
      state_ = std::uncaught_exceptions() > 0 ? "failed" : "finished";
      error_ = state_ == "failed" ? "an error; see the message of this rank" : "";
    }
    ends_ = true;
    wakes_.notify_all();
  }
  watch_.join();
  say(/*now=*/true);
  if (self().state == "failed") linger();
}

void FlightRecorder::set_stop_probe(std::function<bool()> is_stopping) {
  const std::lock_guard lock(mutex_);
  is_stopping_ = std::move(is_stopping);
}

void FlightRecorder::started(const CollectiveRecord& record, const GroupPlace& place) {
  record_.start(record, place);
}

void FlightRecorder::finished(const CollectiveRecord& record, bool failed) {
  record_.finish(record, failed);
}

void FlightRecorder::enqueued(const CollectiveRecord& record,
                              std::unique_ptr<CollectiveWork> work) {
  enqueued_->add(record, std::move(work));
}

RankFlight FlightRecorder::self() const {
  RankFlight out;
  out.rank = process_.rank;
  out.size = process_.size;
  out.host = host_;
  out.process = ::getpid();
  const int64_t step = record_.movement().step;
  const std::lock_guard lock(mutex_);
  out.state = state_;
  out.error = error_;
  out.silent = silent_;
  if (step == halted_step_) out.halted_s = halted_s_;
  return out;
}

void FlightRecorder::say(bool now) {
  if (!board_) return;
  RankFlight flight = self();
  flight.silent.clear();
  record_.copy_to(flight, kReportedOfEachGroup);
  board_->say(to_json_text(flight, /*is_compact=*/true), now);
}

std::string FlightRecorder::write(const std::string& reason, bool with_stacks) noexcept {
  if (settings_.folder.empty()) return "";
  try {
    RankFlight flight = self();
    flight.reason = reason;
    record_.copy_to(flight);
    if (with_stacks) flight.threads = thread_stacks();
    std::filesystem::create_directories(settings_.folder);
    const std::string path = file_of(settings_.folder, process_.rank);
    write_file_atomically(path, to_json_text(flight, /*is_compact=*/false) + "\n");
    return path;
    // The run is failing; an error here must not hide the original one.
  } catch (const std::exception&) {
    return "";
  }
}

void FlightRecorder::become(const char* state, std::string error) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  error_ = std::move(error);
  failed_at_ = std::min(failed_at_, Clock::now());
}

void FlightRecorder::failed(const std::string& what) noexcept {
  try {
    // A failed collective, which is already recorded with its details.
    if (!board_ || self().state == "failed") return;  // alone, its message says all
    become("failed", first_line_in(what));
    say(/*now=*/true);
    write("an error");
  } catch (const std::exception&) {  // the original error is more important
  }
}

/// Collects the latest reports of the other ranks. Ranks that have stopped reporting are not
/// returned. They are in `silent_`.
std::vector<RankFlight> FlightRecorder::gather() {
  board_->watch_all();
  const Clock::time_point limit = Clock::now() + 5 * settings_.beat / 2;
  const bool answers = board_->wait_for_round(2 * settings_.beat);
  // Reports that are new after this time show that the rank is alive.
  const Clock::time_point begin = Clock::now();
  std::vector<RankFlight> alive, silent;
  while (true) {
    alive.clear();
    silent.clear();
    for (const auto& [rank, heard] : board_->heard()) {
      const std::optional<RankFlight> flight = parsed(heard.text);
      if (flight) (is_final(*flight) || heard.at > begin ? alive : silent).push_back(*flight);
    }
    const bool is_complete = static_cast<int64_t>(alive.size()) + 1 == process_.size;
    if (is_complete || !answers || Clock::now() > limit) break;
    std::this_thread::sleep_for(milliseconds(50));
    board_->wait_for_round(settings_.beat);
  }
  const std::lock_guard lock(mutex_);
  silent_ = silent;
  return alive;
}

std::string FlightRecorder::investigate(const char* id) {
  become("failed", fmt::format("[{}] a collective failed", id));
  say(/*now=*/true);
  std::vector<RankFlight> flights = gather();
  const bool rank_0_answers = process_.rank == 0 || board_->wait_for_round(settings_.beat);
  RankFlight own = self();
  record_.copy_to(own, kReportedOfEachGroup);
  flights.push_back(own);
  std::string lines;
  if (own.step > 0) lines = fmt::format("\n  step:      {}, {}", own.step, own.phase);
  if (!rank_0_answers) {
    // The store is gone or does not answer, so the other ranks cannot report any more.
    std::string what = "rank 0, which runs the store of this run, does not answer";
    for (const RankFlight& flight : flights) {
      if (flight.rank == 0) what = "rank 0 ended before: " + flight.error;
    }
    for (const RankFlight& flight : own.silent) {
      if (flight.rank == 0) what += "; its last report was at " + position_text(flight);
    }
    lines += "\n  missing:   " + what;
    flights.insert(flights.end(), own.silent.begin(), own.silent.end());
    for (const FlightFinding& finding : diagnose_flights(flights, process_.size).findings) {
      if (finding.kind == "differs") lines += "\n  differs:   " + finding.text;
    }
    become("failed", fmt::format("[{}] {}", id, what));
    return lines;
  }
  return lines + explain(id, flights);
}

/// Returns lines for the message. The first one is reported to the other ranks.
std::string FlightRecorder::explain(const char* id, const std::vector<RankFlight>& flights) {
  std::string lines;
  const FlightDiagnosis diagnosis = diagnose_flights(flights, process_.size);
  become("failed", fmt::format("[{}] {}", id, diagnosis.verdict));
  say(/*now=*/true);
  constexpr size_t kMaxFindings = 8;
  for (size_t i = 0; i < std::min(diagnosis.findings.size(), kMaxFindings); ++i) {
    const FlightFinding& finding = diagnosis.findings[i];
    const std::string label = (finding.kind == "silent" ? "missing" : finding.kind) + ":";
    lines += fmt::format("\n  {:<10} {}", label, finding.text);
  }
  if (diagnosis.findings.empty()) lines += "\n  others:    " + diagnosis.verdict;
  return lines;
}

/// The store ends with rank 0. Give the other ranks time to read the last report of rank 0.
void FlightRecorder::linger() {
  if (!board_ || process_.rank != 0) return;
  const Clock::time_point limit = Clock::now() + 2 * settings_.beat;
  const auto all_have_ended = [this] {
    const auto heard = board_->heard();
    if (static_cast<int64_t>(heard.size()) + 1 < process_.size) return false;
    return std::all_of(heard.begin(), heard.end(), [](const auto& entry) {
      const std::optional<RankFlight> flight = parsed(entry.second.text);
      return flight && is_final(*flight);
    });
  };
  while (Clock::now() < limit && !all_have_ended()) {
    if (!board_->wait_for_round(settings_.beat)) return;
    std::this_thread::sleep_for(milliseconds(50));
  }
}

std::string FlightRecorder::explain_failure(const CollectiveRecord&, const GroupPlace&,
                                            const std::string& reason) {
  if (!board_ || self().state == "failed") return "";
  const char* const id = comm_errors::id_of(comm_errors::failure_of(reason));
  std::string lines = investigate(id);
  const std::string path = write(std::string("a collective failed: ") + id);
  if (!path.empty()) {
    lines += fmt::format("\n  record:    {} (s2s-run launch diagnose {})", path, settings_.folder);
  }
  return lines;
}

void FlightRecorder::end_process(const char* id, const std::string& what,
                                 const std::string& reason) {
  const std::string lines = investigate(id);
  const std::string path = write(what);
  std::string message = fmt::format("error: [{}] rank {} {}{}", id, process_.rank, what, lines);
  if (!path.empty()) {
    message +=
        fmt::format("\n  record:    {} (s2s-run launch diagnose {})", path, settings_.folder);
  }
  if (!reason.empty()) message += "\n  back end:  " + reason;
  std::fprintf(stderr, "%s\n", printable(message).c_str());
  std::fflush(stderr);
  linger();
  ::_exit(static_cast<int>(ExitCode::kCommunication));
}

}  // namespace s2s
