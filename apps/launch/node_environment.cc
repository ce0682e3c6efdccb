#include "launch/node_environment.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "launch/shell_words.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::launch {
namespace {

using Words = std::vector<std::string>;

std::string file_of(const std::string& tag, const std::string& node) {
  return "/tmp/s2s-launch." + tag + "." + node + ".env";
}

Error no_input_error(const RemoteShell& shell) {
  return {ExitCode::kUsage, "launch/environment",
          "--module '" + shell.module +
              "': variables, the run's token among them, cannot be passed on without showing them "
              "in process lists\n  expected:  ssh or exec\n  next:      use --module ssh, or "
              "s2s-run launch ssh"};
}

struct Delivery {
  std::string host;
  std::unique_ptr<ChildProgram> program;
  bool has_ended() const {
    return program->has_ended() && program->output() < 0 && program->errors() < 0;
  }
};

void advance(Delivery& one) {
  one.program->flush();
  if (one.program->waiting_input() < 0) one.program->close_input();
  one.program->read(one.program->output());
  const std::string errors = one.program->read(one.program->errors());
  if (!errors.empty()) std::fputs(printable(errors).c_str(), stderr);
}

}  // namespace

std::string in_posix_shell(const std::string& command) {
  return "exec sh -c " + shell_word(command);
}

std::string export_lines(const Assignments& environment) {
  std::string out;
  for (const auto& [name, value] : environment) {
    out += "export " + name + "=" + shell_word(value) + "\n";
  }
  return out;
}

std::string reading_command(const RemoteShell& shell, const std::string& tag,
                            const std::string& node, size_t num_bytes) {
  if (!shell.is_pdsh) return "eval \"$(head -c " + std::to_string(num_bytes) + ")\"";
  return ". " + file_of(tag, node) + " && rm -f " + file_of(tag, node);
}

std::string removing_command(const std::string& tag, const std::string& node) {
  return "rm -f " + file_of(tag, node);
}

Undelivered deliver_environment(const RemoteShell& shell, const Words& hosts,
                                const std::string& tag, const std::string& lines,
                                const sigset_t& mask, const std::function<bool()>& is_stopped) {
  std::vector<Delivery> all;
  for (size_t i = 0; i < hosts.size(); ++i) {
    // set -C: the name must not exist.
    const std::string command =
        in_posix_shell("umask 077 && set -C && head -c " + std::to_string(lines.size()) + " > " +
                       file_of(tag, std::to_string(i)));
    const auto words = words_with_input(shell, hosts[i], i, command);
    if (!words) throw no_input_error(shell);
    all.push_back({hosts[i], std::make_unique<ChildProgram>(*words, mask)});
    all.back().program->send(lines);
  }
  const auto is_done = [](const Delivery& one) { return one.has_ended(); };
  while (!std::all_of(all.begin(), all.end(), is_done)) {
    ::poll(nullptr, 0, 20);
    for (Delivery& one : all) advance(one);
    if (!is_stopped()) continue;
    for (Delivery& one : all) one.program->end(SIGTERM);
  }
  Undelivered out;
  for (const Delivery& one : all) {
    if (one.program->code() == 0) continue;
    if (out.code == 0) out.code = one.program->code();
    out.hosts += (out.hosts.empty() ? "" : ", ") + one.host;
  }
  return out;
}

}  // namespace s2s::launch
