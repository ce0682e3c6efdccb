#include "s2s_run/program.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "s2s/error.h"

namespace s2s::run {

namespace {

int report(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return static_cast<int>(error.exit_code());
}

/// The command that a word was given to: "s2s-run data synth".
std::string command_of(const CLI::App* app) {
  std::string name = app->get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    name += " " + app->get_name();
  }
  return name;
}

std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  return std::string("error: [usage/arguments] ") + error.what() + "\n  see: " + command_of(app) +
         " --help\n";
}

}  // namespace

int run_program(int argc, char** argv, void (*setup)(CLI::App&, Invocation&)) {
  CLI::App app{"s2s-run: trains, judges and runs duplex speech-to-speech models", "s2s-run"};
  app.set_version_flag("--version", S2S_VERSION_TEXT);
  app.require_subcommand(1);
  app.failure_message(&usage_message);
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
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  } catch (const Error& error) {
    return report(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "error: [internal] %s\n  this is a defect of s2s; please report it with the "
                 "command line\n",
                 error.what());
    return static_cast<int>(ExitCode::kCheckFailed);
  }
}

}  // namespace s2s::run
