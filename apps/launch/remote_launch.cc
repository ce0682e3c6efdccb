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

std::string process_file(const std::string& token, const std::string& node) {
  return "/tmp/s2s-launch." + token.substr(0, 16) + "." + node;
}

/// pdsh reads % in a command.
std::string for_remote_shell(const RemoteShell& shell, const std::string& text) {
  if (!shell.is_pdsh) return text;
  std::string out;
  for (const char c : text) out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

std::string slot_list(const std::vector<int>& numbers) {
  std::string out;
  for (const int number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
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
      : settings_(settings), token_(new_token()), messages_(num_ranks(settings)) {}

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
  std::string token_;
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
  const std::string command = node_command(settings_, node, token_);
  Node added;
  added.name = name;
  added.program =
      std::make_unique<ChildProgram>(remote_shell_words(settings_.shell, hosts, command), mask);
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
  Words hosts;
  for (const HostSlots& host : settings_.hosts) hosts.push_back(host.host);
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
  const auto command = [&](const std::string& node) {
    return std::string("kill -") + signal_name(signal) + " \"$(cat " + process_file(token_, node) +
           ")\"";
  };
  Words hosts;
  for (const HostSlots& host : settings_.hosts) hosts.push_back(host.host);
  const auto add = [&](const Words& to, const std::string& node) {
    signal_senders_.push_back(std::make_unique<ChildProgram>(
        remote_shell_words(settings_.shell, to, command(node)), signals_.old_mask()));
  };
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
  }
  const bool is_quiet = failures_.empty() && !messages_.holds_any() && !is_ending_;
  ::poll(waiting.data(), waiting.size(), is_quiet ? 1000 : 50);
}

void RemoteGroup::read_outputs() {
  for (Node& node : nodes_) {
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
  const bool may_be_told = first.rank >= 0 && first.code < 128;
  const bool is_told =
      may_be_told && messages_.is_one(first.rank, /*everybody=*/!is_mistake_at_start(first.code));
  const bool is_asked_for =
      signals_.asked_to_end && first.code > 128 && first.code != 128 + SIGKILL;
  const std::string text = first.rank < 0 ? node_message(first.node_code) : first.text;
  if (!is_told && !is_asked_for) std::fputs(text.c_str(), stderr);
  return first.code;
}

int RemoteGroup::run() {
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
  return result();
}

}  // namespace

std::string node_command(const RemoteLaunchSettings& settings, const std::string& node,
                         const std::string& token) {
  std::string slots, devices;
  bool is_filtered = false;
  for (const HostSlots& host : settings.hosts) {
    slots += (slots.empty() ? "" : ",") + std::to_string(host.slots.size());
    devices += (devices.empty() ? "" : "/") + slot_list(host.slots);
    is_filtered = is_filtered || host.is_filtered;
  }
  const int port = settings.master_port != 0 ? settings.master_port : port_for_name(token);
  Words words = {"env"};
  for (const auto& [name, value] : settings.environment) words.push_back(name + "=" + value);
  words.push_back("S2S_JOB_TOKEN=" + token);
  words.insert(words.end(),
               {settings.program, "launch", "node", "--num-nodes",
                std::to_string(settings.hosts.size()), "--slots", slots, "--master-addr",
                settings.master_host.empty() ? settings.hosts.front().host : settings.master_host,
                "--master-port", std::to_string(port), "--grace", std::to_string(settings.grace_s),
                "--report", "--with-input"});
  if (is_filtered) words.insert(words.end(), {"--devices", devices});
  if (!settings.log_folder.empty()) {
    words.insert(words.end(), {"--log-dir", settings.log_folder});
  }
  Words command = {"--"};
  command.insert(command.end(), settings.words.begin(), settings.words.end());
  const auto text = [&](const std::string& plain) {
    return for_remote_shell(settings.shell, plain);
  };
  return text("cd " + shell_word(settings.folder) + " && exec " + shell_words(words)) +
         " --node-rank " + node + " --process-file " + process_file(token, node) +
         text(" " + shell_words(command));
}

std::string shown_commands(const RemoteLaunchSettings& settings) {
  Words hosts;
  for (const HostSlots& host : settings.hosts) hosts.push_back(host.host);
  const auto shown = [&](const Words& to, const std::string& node) {
    Words words = remote_shell_words(settings.shell, to, "");
    words.pop_back();
    return shell_words(words) + "\n  " + node_command(settings, node, "TOKEN") + "\n";
  };
  if (settings.shell.is_pdsh) return shown(hosts, "%n");
  std::string out;
  for (size_t i = 0; i < hosts.size(); ++i) out += shown({hosts[i]}, std::to_string(i));
  return out;
}

int launch_remote(const RemoteLaunchSettings& settings) {
  outlive_readers();
  return RemoteGroup(settings).run();
}

}  // namespace s2s::launch
