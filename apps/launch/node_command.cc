#include "launch/node_command.h"

#include "comm/launch_variables.h"
#include "launch/node_environment.h"
#include "launch/shell_words.h"

namespace s2s::launch {
namespace {

using Words = std::vector<std::string>;

constexpr size_t kTokenDigits = 32;

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

}  // namespace

std::string process_file(const std::string& tag, const std::string& node) {
  return "/tmp/s2s-launch." + tag + "." + node;
}

Words names_of(const std::vector<HostSlots>& hosts) {
  Words names;
  for (const HostSlots& host : hosts) names.push_back(host.host);
  return names;
}

std::string node_command(const RemoteLaunchSettings& settings, const std::string& node,
                         const std::string& tag, size_t num_bytes) {
  std::string slots, devices;
  bool is_filtered = false;
  for (const HostSlots& host : settings.hosts) {
    slots += (slots.empty() ? "" : ",") + std::to_string(host.slots.size());
    devices += (devices.empty() ? "" : "/") + slot_list(host.slots);
    is_filtered = is_filtered || host.is_filtered;
  }
  const int port = settings.master_port != 0 ? settings.master_port : port_for_name(tag);
  Words words = {settings.program,
                 "launch",
                 "node",
                 "--num-nodes",
                 std::to_string(settings.hosts.size()),
                 "--slots",
                 slots,
                 "--master-addr",
                 settings.master_host.empty() ? settings.hosts.front().host : settings.master_host,
                 "--master-port",
                 std::to_string(port),
                 "--grace",
                 std::to_string(settings.grace_s),
                 "--report",
                 "--with-input"};
  if (is_filtered) words.insert(words.end(), {"--devices", devices});
  if (!settings.log_folder.empty()) {
    words.insert(words.end(), {"--log-dir", settings.log_folder});
  }
  Words command = {"--"};
  command.insert(command.end(), settings.words.begin(), settings.words.end());
  const auto text = [&](const std::string& plain) {
    return for_remote_shell(settings.shell, plain);
  };
  return in_posix_shell(
      reading_command(settings.shell, tag, node, num_bytes) +
      text(" && cd " + shell_word(settings.folder) + " && exec " + shell_words(words)) +
      " --node-rank " + node + " --process-file " + process_file(tag, node) +
      text(" " + shell_words(command)));
}

std::string shown_commands(const RemoteLaunchSettings& settings) {
  const Words hosts = names_of(settings.hosts);
  Assignments environment = settings.environment;
  environment.emplace_back("S2S_JOB_TOKEN", std::string(kTokenDigits, '0'));
  const size_t num_bytes = export_lines(environment).size();
  std::string names;
  for (const auto& [name, value] : environment) names += " " + name;
  const auto shown = [&](const Words& to, const std::string& node) {
    Words words = remote_shell_words(settings.shell, to, "");
    words.pop_back();
    return shell_words(words) + "\n  " + node_command(settings, node, "TAG", num_bytes) +
           "\n  variables, through standard input:" + names + "\n";
  };
  if (settings.shell.is_pdsh) return shown(hosts, "%n");
  std::string out;
  for (size_t i = 0; i < hosts.size(); ++i) out += shown({hosts[i]}, std::to_string(i));
  return out;
}

}  // namespace s2s::launch
