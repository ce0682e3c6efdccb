#include "launch/local_launch.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/interrupt.h"
#include "launch/job_token.h"
#include "launch/node_records.h"
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

/// Where the ranks meet, and how many they are.
void place_ranks(const LocalLaunchSettings& settings, int num_ranks, RankCommand& command) {
  auto& environment = command.environment;
  const char* const port = std::getenv("MASTER_PORT");
  environment["LOCAL_WORLD_SIZE"] = environment["WORLD_SIZE"] = std::to_string(num_ranks);
  if (!settings.is_node) {
    environment["S2S_LAUNCH_LOCAL"] = "1";
    environment["MASTER_ADDR"] = "127.0.0.1";
    environment["MASTER_PORT"] = port != nullptr ? port : std::to_string(free_port());
    environment["S2S_JOB_TOKEN"] = new_token();
    return;
  }
  const NodeOfRun& node = settings.node;
  environment["S2S_LAUNCH_NODE"] = "1";
  environment["S2S_LAUNCH_LOCAL"] = "";
  environment["WORLD_SIZE"] = std::to_string(node.world_size);
  environment["MASTER_ADDR"] = node.host;
  environment["MASTER_PORT"] = std::to_string(node.port == 0 ? free_port() : node.port);
  if (!node.devices.empty()) environment["CUDA_VISIBLE_DEVICES"] = node.devices;
}

RankCommand command_for(const LocalLaunchSettings& settings, int num_ranks, int attempt) {
  RankCommand command;
  command.words = {settings.program};
  command.words.insert(command.words.end(), settings.words.begin(), settings.words.end());
  command.environment = {{"TORCHELASTIC_RESTART_COUNT", std::to_string(attempt)},
                         {"TORCHELASTIC_USE_AGENT_STORE", ""},
                         {"TORCHELASTIC_ERROR_FILE", ""},
                         {"S2S_STOPPED_FILE", ""}};
  place_ranks(settings, num_ranks, command);
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    const int threads = std::max(1, num_processors() / num_ranks);
    command.environment["OMP_NUM_THREADS"] = std::to_string(threads);
  }
  return command;
}

/// True for an error in the configuration, a plugin or the data. A restart would fail again.
bool is_mistake(const RankEnd& end) {
  return end.signal == 0 && end.exit_code >= static_cast<int>(ExitCode::kUsage) &&
         end.exit_code <= static_cast<int>(ExitCode::kNumerics);
}

/// What to print about the rank that failed first. `rank`: on this machine.
std::string report_of(const LocalLaunchSettings& settings, const RankGroup& group, int rank,
                      int num_ranks) {
  const int first = settings.node.first_rank;
  const int world = settings.is_node ? settings.node.world_size : num_ranks;
  std::string text = std::string("error: ") + "[launch/rank-failed] rank " +
                     std::to_string(first + rank) + " of " + std::to_string(world) + " " +
                     group.end_of(rank).text() + "\n";
  for (const int halted : group.halted()) {
    text += "  halted:    rank " + std::to_string(first + halted) +
            ", by SIGSTOP or a debugger, when that happened\n";
  }
  if (first + rank == 0) return text;  // its output is already on the launcher's standard error
  const RankOutput& output = group.output_of(rank);
  if (!output.file().empty()) text += "  log:       " + printable_name(output.file()) + "\n";
  if (!output.last_lines().empty()) text += "  its last lines:\n";
  for (const std::string& line : output.last_lines()) text += "    " + printable(line) + "\n";
  return text;
}

bool is_asked_for(const RankEnd& end) {
  return end.code() == 128 + SIGINT || end.code() == 128 + SIGTERM || end.code() == 128 + SIGHUP;
}

/// Prints the failure, or tells the launcher of all machines.
void report(const LocalLaunchSettings& settings, const RankGroup& group, int failed,
            bool asked_to_end) {
  const RankEnd& end = group.end_of(failed);
  const int rank = settings.node.first_rank + failed;
  const std::string text = report_of(settings, group, failed, settings.num_ranks);
  if (settings.node.reports) {
    return write_record({NodeRecord::kFailure, rank, text, end.code()});
  }
  const bool has_message =
      end.signal == 0 && group.messages().is_one(rank, /*everybody=*/!is_mistake(end));
  if (!has_message && !(asked_to_end && is_asked_for(end))) std::fputs(text.c_str(), stderr);
}

/// How one start of the ranks ended.
struct Outcome {
  std::optional<RankEnd> failed;  // the rank that failed first
  bool was_stopped = false;       // on request, with a checkpoint
  bool may_rejoin = false;        // the request was to start all ranks again
};

Outcome run_once(const LocalLaunchSettings& settings, int all_ranks, int attempt,
                 SignalQueue& signals) {
  RankCommand command = command_for(settings, settings.num_ranks, attempt);
  command.signal_mask = signals.old_mask();
  const NodeOfRun& node = settings.node;
  RankGroup group(command, settings.num_ranks, settings.log_folder, node.first_rank);
  if (node.reports) {
    group.tell([](int rank, const std::string& message) {
      write_record({NodeRecord::kMessage, rank, message, 0});
    });
  }
  if (settings.num_ranks < all_ranks && settings.rejoin_s > 0) group.stop_after(settings.rejoin_s);
  group.run(signals, settings.grace_s, node.ends_with_input);
  Outcome outcome;
  outcome.was_stopped = group.was_stopped();
  outcome.may_rejoin = group.was_asked_to_stop() && !signals.asked_to_end;
  if (!group.first_failure()) return outcome;
  report(settings, group, *group.first_failure(), signals.asked_to_end);
  outcome.failed = group.end_of(*group.first_failure());
  return outcome;
}

/// The exit code for an engine that starts the run again after `retry_code` only.
int code_for_engine(const LocalLaunchSettings& settings, int code, bool may_work_again) {
  return settings.retry_code != 0 && may_work_again ? settings.retry_code : code;
}

}  // namespace

int launch_local(const LocalLaunchSettings& given) {
  outlive_readers();  // a closed output must not kill this process and with it the ranks
  SignalQueue signals;
  LocalLaunchSettings settings = given;
  int restarts = 0;
  for (int attempt = 0;; ++attempt) {
    const Outcome outcome = run_once(settings, given.num_ranks, attempt, signals);
    const std::optional<RankEnd>& failed = outcome.failed;
    if (!failed && !outcome.was_stopped) return 0;
    if (!failed && outcome.may_rejoin) {
      settings.num_ranks = given.num_ranks;
      std::fprintf(stderr, "launch: all %d ranks again\n", settings.num_ranks);
      continue;
    }
    if (!failed) return code_for_engine(settings, static_cast<int>(ExitCode::kStopped), true);
    const bool may_work_again = !is_mistake(*failed);
    const bool again = restarts < settings.restarts && may_work_again;
    if (!again || signals.asked_to_end) {
      return code_for_engine(settings, failed->code(), may_work_again);
    }
    if (settings.min_ranks > 0 && settings.num_ranks > settings.min_ranks) --settings.num_ranks;
    std::fprintf(stderr, "launch: restart %d of %d", ++restarts, settings.restarts);
    if (settings.min_ranks > 0) std::fprintf(stderr, ", with %d ranks", settings.num_ranks);
    std::fprintf(stderr, "\n");
  }
}

}  // namespace s2s::launch
