#include "launch/local_launch.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/interrupt.h"
#include "launch/rank_group.h"
#include "launch/signal_queue.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::launch {
namespace {

Error port_error(const std::string& reason) {
  return {ExitCode::kCommunication, "launch/port",
          "no free port on 127.0.0.1 for the rendezvous of the ranks: " + reason +
              "\n  next:      set MASTER_PORT to a free port"};
}

int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound =
      listener >= 0 && ::bind(listener, any, size) == 0 && ::getsockname(listener, any, &size) == 0;
  const std::string reason = std::strerror(errno);
  if (listener >= 0) ::close(listener);
  if (!is_bound) throw port_error(reason);
  return ntohs(address.sin_port);
}

/// Number of CPUs that this process may use.
int num_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

/// 128 random bits that the ranks of this start share. Other users cannot read them.
std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  size_t num_read = 0;
  while (num_read < bytes.size()) {
    const ssize_t count = ::getrandom(bytes.data() + num_read, bytes.size() - num_read, 0);
    if (count < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    num_read += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

RankCommand command_for(const LocalLaunchSettings& settings, int attempt) {
  RankCommand command;
  command.words = {settings.program};
  command.words.insert(command.words.end(), settings.words.begin(), settings.words.end());
  const char* const port = std::getenv("MASTER_PORT");
  const std::string size = std::to_string(settings.num_ranks);
  command.environment = {{"S2S_LAUNCH_LOCAL", "1"},
                         {"WORLD_SIZE", size},
                         {"LOCAL_WORLD_SIZE", size},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", port != nullptr ? port : std::to_string(free_port())},
                         {"TORCHELASTIC_RESTART_COUNT", std::to_string(attempt)},
                         {"TORCHELASTIC_USE_AGENT_STORE", ""},
                         {"TORCHELASTIC_ERROR_FILE", ""},
                         {"S2S_STOPPED_FILE", ""},
                         {"S2S_JOB_TOKEN", new_token()}};
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    const int threads = std::max(1, num_processors() / settings.num_ranks);
    command.environment["OMP_NUM_THREADS"] = std::to_string(threads);
  }
  return command;
}

/// True for an error in the configuration, a plugin or the data. A restart would fail again.
bool is_mistake(const RankEnd& end) {
  return end.signal == 0 && end.exit_code >= static_cast<int>(ExitCode::kUsage) &&
         end.exit_code <= static_cast<int>(ExitCode::kNumerics);
}

void report(const RankGroup& group, int rank, int num_ranks) {
  std::fprintf(stderr, "error: %s%d of %d %s\n", "[launch/rank-failed] rank ", rank, num_ranks,
               group.end_of(rank).text().c_str());
  for (const int halted : group.halted()) {
    std::fprintf(stderr, "  halted:    rank %d, by SIGSTOP or a debugger, when that happened\n",
                 halted);
  }
  if (rank == 0) return;  // its output is already on the launcher's standard error
  const RankOutput& output = group.output_of(rank);
  if (!output.file().empty()) {
    std::fprintf(stderr, "  log:       %s\n", printable_name(output.file()).c_str());
  }
  if (!output.last_lines().empty()) std::fprintf(stderr, "  its last lines:\n");
  for (const std::string& line : output.last_lines()) {
    std::fprintf(stderr, "    %s\n", printable(line).c_str());
  }
}

}  // namespace

int launch_local(const LocalLaunchSettings& settings) {
  outlive_readers();  // a closed output must not kill this process and with it the ranks
  SignalQueue signals;
  for (int attempt = 0;; ++attempt) {
    RankCommand command = command_for(settings, attempt);
    command.signal_mask = signals.old_mask();
    RankGroup group(command, settings.num_ranks, settings.log_folder);
    group.run(signals, settings.grace_s);
    const std::optional<int> failed = group.first_failure();
    if (!failed) return group.was_stopped() ? static_cast<int>(ExitCode::kStopped) : 0;
    const RankEnd& end = group.end_of(*failed);
    const bool is_told =
        end.signal == 0 && group.messages().is_one(*failed, /*everybody=*/!is_mistake(end));
    const bool is_asked_for =
        signals.asked_to_end &&
        (end.code() == 128 + SIGINT || end.code() == 128 + SIGTERM || end.code() == 128 + SIGHUP);
    if (!is_told && !is_asked_for) report(group, *failed, settings.num_ranks);
    const bool again = attempt < settings.restarts && !is_mistake(end);
    if (!again || signals.asked_to_end) return end.code();
    std::fprintf(stderr, "launch: restart %d of %d\n", attempt + 1, settings.restarts);
  }
}

}  // namespace s2s::launch
