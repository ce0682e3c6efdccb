#include "launch/rank_group.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "launch/launcher_line.h"
#include "launch/signal_queue.h"
#include "s2s/error.h"

namespace s2s::launch {
namespace {

/// When a rank fails, ranks that communicate with it fail shortly after. All ranks that end within
/// this time are candidates for the cause.
constexpr auto kSettling = std::chrono::milliseconds(500);

/// All ranks read the same command line and configuration, so they make the same mistake. On a busy
/// machine some may start seconds later.
constexpr auto kSettlingOfStart = std::chrono::seconds(10);

bool is_mistake_at_start(const RankEnd& end) {
  return end.signal == 0 && end.exit_code >= static_cast<int>(ExitCode::kUsage) &&
         end.exit_code <= static_cast<int>(ExitCode::kPlugin);
}

/// A pipe. Child processes inherit neither end. Reads do not block.
struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
    ::fcntl(ends[1], F_SETFL, 0);  // the rank's writes block
  }
  ~Pipe() { ::close(ends[1]); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int ends[2] = {-1, -1};
};

}  // namespace

RankGroup::RankGroup(const RankCommand& command, int num_ranks, const std::string& log_folder,
                     int first_rank)
    : first_rank_(first_rank), messages_(num_ranks) {
  for (int rank = 0; rank < num_ranks; ++rank) start(command, rank, log_folder);
}

RankGroup::~RankGroup() {
  signal_all(SIGKILL);
  for (const Rank& rank : ranks_) {
    if (!rank.has_ended) ::waitpid(rank.process, nullptr, 0);
    if (rank.pipe >= 0) ::close(rank.pipe);
    if (rank.line >= 0) ::close(rank.line);
  }
}

void RankGroup::start(const RankCommand& command, int rank, const std::string& log_folder) {
  RankCommand own = command;
  own.environment["RANK"] = std::to_string(first_rank_ + rank);
  own.environment["LOCAL_RANK"] = std::to_string(rank);
  const Pipe line;
  own.line = line.ends[1];
  own.environment[kLineVariable] = line_value(own.line);
  Rank started;
  started.line = line.ends[0];
  if (first_rank_ + rank == 0) {
    started.process = start_rank(own, -1);
  } else {
    started.output = RankOutput(first_rank_ + rank, log_folder);
    const Pipe pipe;
    started.pipe = pipe.ends[0];
    started.process = start_rank(own, pipe.ends[1]);
  }
  ranks_.push_back(std::move(started));
}

bool RankGroup::all_ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.has_ended; });
}

bool RankGroup::was_stopped() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
    return rank.end.exit_code == static_cast<int>(ExitCode::kStopped);
  });
}

void RankGroup::signal_all(int signal) {
  for (const Rank& rank : ranks_) {
    if (!rank.has_ended) ::kill(-rank.process, signal);
  }
}

void RankGroup::reap() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    int status = 0;
    Rank& rank = ranks_[i];
    const int options = WNOHANG | WUNTRACED | WCONTINUED;
    if (rank.has_ended || ::waitpid(rank.process, &status, options) != rank.process) continue;
    rank.is_halted = WIFSTOPPED(status);
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) continue;
    rank.has_ended = true;
    if (WIFEXITED(status)) rank.end.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) rank.end.signal = WTERMSIG(status);
    if (!rank.end.failed()) continue;
    if (failures_.empty()) {
      is_start_ = is_mistake_at_start(rank.end);
      settle_until_ = Clock::now();
      settle_until_ += is_start_ ? Clock::duration(kSettlingOfStart) : Clock::duration(kSettling);
    }
    failures_.push_back(static_cast<int>(i));
  }
}

/// Called before read_outputs, so that output that a rank printed before its message is read when
/// the message is shown.
void RankGroup::read_lines() {
  char buffer[4096];
  for (Rank& rank : ranks_) {
    ssize_t count = 0;
    while (rank.line >= 0 && (count = ::read(rank.line, buffer, sizeof(buffer))) > 0) {
      rank.message.append(buffer, static_cast<size_t>(count));
    }
    if (rank.line < 0 || (count != 0 && !rank.has_ended)) continue;
    ::close(rank.line);
    rank.line = -1;
  }
}

void RankGroup::take_messages() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    const bool is_whole = !rank.message.empty() && rank.message.back() == '\0';
    if (rank.message.empty() || (!is_whole && rank.line >= 0)) continue;
    if (is_whole) rank.message.pop_back();
    rank.points_at_rank_0 = rank.points_at_rank_0 || points_at_rank_0(rank.message);
    const bool is_in_log = rank.output.add_message(rank.message);
    if (listener_) {
      listener_(first_rank_ + static_cast<int>(i), rank.message);
    } else if (!is_in_log) {
      messages_.hold(first_rank_ + static_cast<int>(i), rank.message);
    }
    rank.message.clear();
  }
  const bool others_may_follow = is_start_ && !first_failure_;
  if (all_ended() || !others_may_follow) messages_.show(all_ended());
}

void RankGroup::read_outputs() {
  char buffer[8192];
  for (Rank& rank : ranks_) {
    ssize_t count = 0;
    while (rank.pipe >= 0 && (count = ::read(rank.pipe, buffer, sizeof(buffer))) > 0) {
      rank.output.add(buffer, static_cast<size_t>(count));
    }
    // Orphaned child processes of the rank may keep the pipe open.
    if (rank.pipe < 0 || (count != 0 && !rank.has_ended)) continue;
    rank.output.end();
    ::close(rank.pipe);
    rank.pipe = -1;
  }
}

void RankGroup::poll(const SignalQueue& signals, bool watches_input) {
  std::vector<pollfd> waiting = {{signals.descriptor(), POLLIN, 0}};
  if (watches_input) waiting.push_back({STDIN_FILENO, POLLIN, 0});
  for (const Rank& rank : ranks_) {
    if (rank.pipe >= 0) waiting.push_back({rank.pipe, POLLIN, 0});
    if (rank.line >= 0) waiting.push_back({rank.line, POLLIN, 0});
  }
  const bool is_quiet = failures_.empty() && !messages_.holds_any() && !must_end_;
  const int timeout_ms = is_quiet ? -1 : 50;
  ::poll(waiting.data(), waiting.size(), stop_at_ && is_quiet ? 200 : timeout_ms);
}

bool RankGroup::input_ended() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  char buffer[256];
  return ::poll(&input, 1, 0) == 1 && ::read(STDIN_FILENO, buffer, sizeof(buffer)) <= 0;
}

/// True while a failed rank blames rank 0, and rank 0 has not ended yet. Rank 0 reports its error
/// before it cleans up.
bool RankGroup::waits_for_rank_0() const {
  if (first_rank_ > 0) return false;
  if (ranks_[0].has_ended || Clock::now() >= settle_until_ + kSettlingOfStart) return false;
  return std::any_of(failures_.begin(), failures_.end(), [this](int rank) {
    return ranks_[static_cast<size_t>(rank)].points_at_rank_0;
  });
}

/// After a failure: determines the cause, asks the other ranks to stop, and kills them after the
/// grace time.
void RankGroup::judge(double grace_s) {
  const Clock::time_point now = Clock::now();
  if (must_end_ && now >= kill_at_) signal_all(SIGKILL);
  if (failures_.empty() || (!all_ended() && now < settle_until_)) return;
  if (!first_failure_) {
    if (waits_for_rank_0()) return;
    const auto lost_others = [this](int rank) {
      const RankEnd& end = end_of(rank);
      return end.signal == 0 && end.exit_code == static_cast<int>(ExitCode::kCommunication);
    };
    const auto cause = std::find_if_not(failures_.begin(), failures_.end(), lost_others);
    first_failure_ = cause == failures_.end() ? failures_.front() : *cause;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].is_halted && !ranks_[i].has_ended) halted_.push_back(static_cast<int>(i));
    }
    kill_at_ =
        now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(grace_s));
    signal_all(SIGTERM);
    signal_all(SIGCONT);  // a halted rank would not receive SIGTERM
  } else if (now >= kill_at_ && !is_killing_) {
    is_killing_ = true;
    signal_all(SIGKILL);
  }
}

void RankGroup::stop_after(double seconds) {
  stop_at_ = Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void RankGroup::run(SignalQueue& signals, double grace_s, bool ends_with_input) {
  while (!all_ended()) {
    poll(signals, ends_with_input);
    if (ends_with_input && input_ended()) {
      ends_with_input = false;
      signals.asked_to_end = true;
      signal_all(SIGTERM);
      kill_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(grace_s));
      must_end_ = true;
    }
    while (const std::optional<int> signal = signals.next()) {
      if (*signal == SIGCHLD) continue;
      // SIGUSR2 only requests a flight record.
      signals.asked_to_end = signals.asked_to_end || *signal != SIGUSR2;
      signal_all(*signal);
    }
    if (stop_at_ && Clock::now() >= *stop_at_) {
      stop_at_.reset();
      was_asked_to_stop_ = true;
      signal_all(SIGUSR1);
    }
    reap();
    read_lines();
    read_outputs();
    take_messages();
    judge(grace_s);
  }
}

}  // namespace s2s::launch
