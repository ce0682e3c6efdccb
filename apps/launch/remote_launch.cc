#include "launch/remote_launch.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "base/interrupt.h"
#include "comm/launch_variables.h"
#include "launch/job_token.h"
#include "launch/node_command.h"
#include "launch/node_environment.h"
#include "launch/node_records.h"
#include "launch/rank_messages.h"
#include "launch/shell_words.h"
#include "launch/signal_queue.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::launch {
namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

/// Failures within this time are candidates for the cause: ranks that only lost another one fail
/// shortly after it. All ranks make a mistake of the start, some of them seconds later.
constexpr std::chrono::seconds kNodeSettling{1}, kNodeSettlingOfStart{10};
/// How much longer than the ranks' grace time their launchers may take.
constexpr std::chrono::seconds kNodeGrace{5};

Error node_error(const std::string& hosts, int code) {
  return {ExitCode::kCommunication, "launch/node-failed",
          hosts + ": the launcher there ended with exit code " + std::to_string(code) +
              " and named no rank\n  next:      check that this machine can be reached without a "
              "password, and that the folder and s2s-run are there"};
}

bool is_mistake_at_start(int code) {
  return code >= static_cast<int>(ExitCode::kUsage) && code <= static_cast<int>(ExitCode::kPlugin);
}

const char* signal_name(int signal) {
  switch (signal) {
    case SIGUSR1:
      return "USR1";
    case SIGUSR2:
      return "USR2";
    case SIGHUP:
      return "HUP";
    case SIGINT:
      return "INT";
    default:
      return "TERM";
  }
}

/// All machines of one start.
class RemoteGroup {
 public:
  explicit RemoteGroup(const RemoteLaunchSettings& settings)
      : settings_(settings), tag_(new_token().substr(0, 16)), messages_(num_ranks(settings)) {
    Assignments environment = settings.environment;
    environment.emplace_back("S2S_JOB_TOKEN", new_token());
    lines_ = export_lines(environment);
  }

  int run();

 private:
  struct Node {
    std::string name;  // host, or all hosts for pdsh
    std::unique_ptr<ChildProgram> program;
    std::unique_ptr<NodeRecordReader> reader;
    bool is_counted = false;  // its end was looked at
    bool has_failure = false;
  };
  struct Failure {
    int code;          // that the launch ends with
    int rank;          // -1: of a machine
    std::string text;  // of a rank
    size_t node = 0;   // of a machine, with the code of its launcher
    int node_code = 0;
  };

  static int num_ranks(const RemoteLaunchSettings& settings);
  std::optional<int> deliver();
  void remove_files();
  void start(const sigset_t& mask);
  void add_node(const std::string& name, const Words& hosts, const std::string& node,
                const sigset_t& mask);
  void fail(Failure failure);
  void send(int signal);
  void take_signals();
  void wait();
  void read_outputs();
  void reap();
  void judge();
  bool all_ended() const;
  std::string node_message(int code) const;
  int result() const;

  const RemoteLaunchSettings& settings_;
  std::string tag_;    // in the names of files on the machines; no secret
  std::string lines_;  // export the ranks' variables; secret
  SignalQueue signals_;
  RankMessages messages_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<ChildProgram>> signal_senders_;  // that take a signal to the machines
  std::vector<Failure> failures_;
  Clock::time_point settle_until_, end_at_;
  bool is_ending_ = false, was_stopped_ = false;
};

int RemoteGroup::num_ranks(const RemoteLaunchSettings& settings) {
  size_t count = 0;
  for (const HostSlots& host : settings.hosts) count += host.slots.size();
  return static_cast<int>(count);
}

void RemoteGroup::add_node(const std::string& name, const Words& hosts, const std::string& node,
                           const sigset_t& mask) {
  const std::string command = node_command(settings_, node, tag_, lines_.size());
  Node added;
  added.name = name;
  added.program =
      std::make_unique<ChildProgram>(remote_shell_words(settings_.shell, hosts, command), mask);
  if (!settings_.shell.is_pdsh) added.program->send(lines_);
  const size_t index = nodes_.size();
  added.reader = std::make_unique<NodeRecordReader>(
      [this, index](const NodeRecord& record) {
        if (record.kind == NodeRecord::kMessage) return messages_.hold(record.rank, record.text);
        nodes_[index].has_failure = true;
        fail({record.code, record.rank, record.text});
      },
      [](const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); });
  nodes_.push_back(std::move(added));
}

void RemoteGroup::start(const sigset_t& mask) {
  const Words hosts = names_of(settings_.hosts);
  if (settings_.shell.is_pdsh) return add_node("pdsh", hosts, "%n", mask);
  for (size_t i = 0; i < hosts.size(); ++i) {
    add_node(hosts[i], {hosts[i]}, std::to_string(i), mask);
  }
}

void RemoteGroup::fail(Failure failure) {
  if (failures_.empty()) {
    settle_until_ = Clock::now();
    settle_until_ += is_mistake_at_start(failure.code) ? kNodeSettlingOfStart : kNodeSettling;
  }
  failures_.push_back(std::move(failure));
}

/// Sends a signal to the launcher on each machine.
void RemoteGroup::send(int signal) {
  const auto add = [&](const Words& to, const std::string& node) {
    const std::string command = std::string("kill -") + signal_name(signal) + " \"$(cat " +
                                process_file(tag_, node) + ")\"";
    signal_senders_.push_back(std::make_unique<ChildProgram>(
        remote_shell_words(settings_.shell, to, in_posix_shell(command)), signals_.old_mask()));
  };
  const Words hosts = names_of(settings_.hosts);
  if (settings_.shell.is_pdsh) return add(hosts, "%n");
  for (size_t i = 0; i < hosts.size(); ++i) add({hosts[i]}, std::to_string(i));
}

void RemoteGroup::take_signals() {
  while (const std::optional<int> signal = signals_.next()) {
    if (*signal == SIGCHLD) continue;
    const bool is_repeated = signals_.asked_to_end && (*signal == SIGINT || *signal == SIGTERM);
    signals_.asked_to_end = signals_.asked_to_end || *signal != SIGUSR2;
    send(*signal);
    if (is_repeated) {
      is_ending_ = true;
      end_at_ = Clock::now() + kNodeGrace;
    }
  }
}

bool RemoteGroup::all_ended() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.is_counted && node.program->output() < 0 && node.program->errors() < 0;
  });
}

void RemoteGroup::wait() {
  std::vector<pollfd> waiting = {{signals_.descriptor(), POLLIN, 0}};
  for (const Node& node : nodes_) {
    for (const int one : {node.program->output(), node.program->errors()}) {
      if (one >= 0) waiting.push_back({one, POLLIN, 0});
    }
    const int input = node.program->waiting_input();
    if (input >= 0) waiting.push_back({input, POLLOUT, 0});
  }
  const bool is_quiet = failures_.empty() && !messages_.holds_any() && !is_ending_;
  ::poll(waiting.data(), waiting.size(), is_quiet ? 1000 : 50);
}

void RemoteGroup::read_outputs() {
  for (Node& node : nodes_) {
    node.program->flush();
    const std::string output = node.program->read(node.program->output());
    std::fwrite(output.data(), 1, output.size(), stdout);
    if (!output.empty()) std::fflush(stdout);
    const std::string errors = node.program->read(node.program->errors());
    node.reader->add(errors.data(), errors.size());
    if (node.program->errors() < 0) node.reader->end();
  }
}

void RemoteGroup::reap() {
  for (Node& node : nodes_) {
    if (node.is_counted || !node.program->has_ended() || node.program->errors() >= 0) continue;
    node.is_counted = true;
    const int code = node.program->code();
    if (code == 0 || node.has_failure || is_ending_) continue;
    if (code == static_cast<int>(ExitCode::kStopped)) {
      was_stopped_ = true;
      continue;
    }
    const size_t index = static_cast<size_t>(&node - nodes_.data());
    fail({static_cast<int>(ExitCode::kCommunication), -1, "", index, code});
  }
  const auto is_done = [](const std::unique_ptr<ChildProgram>& sender) {
    return sender->has_ended();
  };
  signal_senders_.erase(std::remove_if(signal_senders_.begin(), signal_senders_.end(), is_done),
                        signal_senders_.end());
}

/// After a failure, asks the other machines to end, and ends what goes there after the grace time.
void RemoteGroup::judge() {
  const Clock::time_point now = Clock::now();
  if (!failures_.empty() && !is_ending_ && now >= settle_until_) {
    is_ending_ = true;
    end_at_ = now + kNodeGrace +
              std::chrono::duration_cast<Clock::duration>(
                  std::chrono::duration<double>(settings_.grace_s));
    send(SIGTERM);
  }
  if (!is_ending_ || now < end_at_) return;
  const bool is_late = now >= end_at_ + kNodeGrace;
  for (Node& node : nodes_) node.program->end(is_late ? SIGKILL : SIGTERM);
}

/// One message for all machines whose launcher ended with `code`, in the order of the hosts.
std::string RemoteGroup::node_message(int code) const {
  std::string names;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const bool has_it = std::any_of(failures_.begin(), failures_.end(), [&](const Failure& one) {
      return one.rank < 0 && one.node == i && one.node_code == code;
    });
    if (has_it) names += (names.empty() ? "" : ", ") + nodes_[i].name;
  }
  return std::string("error: ") + node_error(names, code).what() + "\n";
}

int RemoteGroup::result() const {
  if (failures_.empty()) return was_stopped_ ? static_cast<int>(ExitCode::kStopped) : 0;
  const auto cause = std::find_if(failures_.begin(), failures_.end(), [](const Failure& one) {
    return one.code != static_cast<int>(ExitCode::kCommunication);
  });
  const Failure& first = cause == failures_.end() ? failures_.front() : *cause;
  const bool may_have_message = first.rank >= 0 && first.code < 128;
  const bool has_message =
      may_have_message &&
      messages_.is_one(first.rank, /*everybody=*/!is_mistake_at_start(first.code));
  const bool is_asked_for =
      signals_.asked_to_end && first.code > 128 && first.code != 128 + SIGKILL;
  const std::string text = first.rank < 0 ? node_message(first.node_code) : first.text;
  if (!has_message && !is_asked_for) std::fputs(text.c_str(), stderr);
  return first.code;
}

/// For pdsh: brings the variables to the machines first. Returns the exit code if that failed.
std::optional<int> RemoteGroup::deliver() {
  if (!settings_.shell.is_pdsh) return {};
  int stopped_by = 0;
  const auto is_stopped = [&] {
    while (const std::optional<int> signal = signals_.next()) {
      if (*signal != SIGCHLD && *signal != SIGUSR1 && *signal != SIGUSR2) stopped_by = *signal;
    }
    return stopped_by != 0;
  };
  const Undelivered missing = deliver_environment(settings_.shell, names_of(settings_.hosts), tag_,
                                                  lines_, signals_.old_mask(), is_stopped);
  if (missing.hosts.empty()) return {};
  remove_files();
  if (stopped_by != 0) return 128 + stopped_by;
  const std::string text = node_error(missing.hosts, missing.code).what();
  std::fputs(("error: " + text + "\n").c_str(), stderr);
  return static_cast<int>(ExitCode::kCommunication);
}

/// Removes the variables where the launcher of a machine did not take them. Waits a moment only.
void RemoteGroup::remove_files() {
  ChildProgram removing(remote_shell_words(settings_.shell, names_of(settings_.hosts),
                                           in_posix_shell(removing_command(tag_, "%n"))),
                        signals_.old_mask());
  for (int i = 0; i < 100 && !removing.has_ended(); ++i) ::poll(nullptr, 0, 50);
}

int RemoteGroup::run() {
  if (const std::optional<int> code = deliver()) return *code;
  start(signals_.old_mask());
  while (!all_ended()) {
    wait();
    take_signals();
    read_outputs();
    reap();
    messages_.show(all_ended());
    judge();
  }
  messages_.show(true);
  const bool has_lost_machine = std::any_of(failures_.begin(), failures_.end(),
                                            [](const Failure& one) { return one.rank < 0; });
  if (settings_.shell.is_pdsh && has_lost_machine) remove_files();
  return result();
}

}  // namespace

int launch_remote(const RemoteLaunchSettings& settings) {
  outlive_readers();
  return RemoteGroup(settings).run();
}

}  // namespace s2s::launch
