#include "s2s_run/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>

#include "launch/launcher_line.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::run {

namespace {

/// Shows the message of what ends this process; a rank's launcher does, where it listens.
void show(const launch::LauncherLine& launcher, const std::string& text) {
  const std::string message = printable(text);
  if (!launcher.tell(message)) std::fprintf(stderr, "%s\n", message.c_str());
}

int report(const launch::LauncherLine& launcher, const Error& error) {
  show(launcher, std::string("error: ") + error.what());
  return static_cast<int>(error.exit_code());
}

/// The deepest command that was understood.
const CLI::App& understood(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

/// "s2s-run plugin list"
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

Error command_error(const CLI::App& group, const std::vector<std::string>& left_over) {
  std::vector<std::string> names;
  for (const CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; })) {
    const bool is_hidden = command->get_group().empty();
    if (!is_hidden) names.push_back(command->get_name());
  }
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  const std::string group_name = full_name(group);
  const auto word = std::find_if(left_over.begin(), left_over.end(),
                                 [](const std::string& w) { return !w.starts_with("-"); });
  std::string message = group_name + ": a command is missing";
  if (word != left_over.end()) {
    const std::string nearest = nearest_name(*word, names);
    message = group_name + " has no command '" + *word + "'" +
              (nearest.empty() ? "" : "\n  did you mean '" + nearest + "'?");
  }
  return {ExitCode::kUsage, "usage/command",
          message + "\n  known:     " + known + "\n  see:       " + group_name + " --help"};
}

Error memory_error() {
  return {ExitCode::kCheckFailed, "run/memory",
          "the machine has no memory left for this; make the model or the batch smaller, or end "
          "other programs"};
}

/// LibTorch's allocator and MKL's FFT do not throw std::bad_alloc.
bool is_out_of_memory(const std::exception& error) {
  const std::string_view text = error.what();
  return text.find("can't allocate memory") != std::string_view::npos ||
         text.find("Not enough memory to allocate") != std::string_view::npos;
}

/// What CLI11 says about a command line, as one of our messages.
Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = understood(app);
  if (command.get_require_subcommand_min() > 0 && command.get_subcommands().empty()) {
    return command_error(command, app.remaining(/*recurse=*/true));
  }
  const std::string name = full_name(command);
  return {ExitCode::kUsage, "usage/arguments",
          name + ": " + error.what() + "\n  see:       " + name + " --help"};
}

Error file_error(const std::filesystem::filesystem_error& error) {
  return {ExitCode::kData, "io/file",
          error.path1().string() + ": " + error.code().message() +
              "; check the path, and that you may read and write there"};
}

}  // namespace

int run_program(int argc, char** argv, void (*setup)(CLI::App&, Invocation&)) {
  const launch::LauncherLine launcher;
  CLI::App app{"s2s-run: trains, judges and runs duplex speech-to-speech models", "s2s-run"};
  app.set_version_flag("--version", S2S_VERSION_TEXT);
  app.require_subcommand(1);
  app.fallthrough();  // --plugin-path may also stand behind the subcommand
  Invocation invocation;
  app.add_option("--plugin-path", invocation.plugin_paths,
                 "folder to search for plugins first; may be repeated")
      ->allow_extra_args(false);
  setup(app, invocation);
  try {
    app.parse(argc, argv);
    return invocation.selected ? invocation.selected() : 0;
  } catch (const CLI::ParseError& error) {
    const bool is_answer = error.get_exit_code() == 0;  // --help, --version
    return is_answer ? app.exit(error) : report(launcher, usage_error(app, error));
  } catch (const Error& error) {
    return report(launcher, error);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(launcher, file_error(error));
  } catch (const std::bad_alloc&) {
    return report(launcher, memory_error());
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) return report(launcher, memory_error());
    show(launcher, std::string("error: [internal] ") + error.what() +
                       "\n  this is a defect of s2s; please report it with the command line");
    return static_cast<int>(ExitCode::kCheckFailed);
  }
}

}  // namespace s2s::run
