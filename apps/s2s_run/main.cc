// s2s-run: parses the command line, runs one subcommand, turns errors into one message and an exit
// code (core/include/s2s/error.h).

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "s2s/error.h"
#include "s2s_run/subcommands.h"

namespace {

int report(const s2s::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return static_cast<int>(error.exit_code());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"s2s-run: trains, judges and runs duplex speech-to-speech models", "s2s-run"};
  app.set_version_flag("--version", S2S_VERSION_TEXT);
  app.require_subcommand(1);
  s2s::run::Invocation invocation;
  app.add_option("--plugin-path", invocation.plugin_paths,
                 "folder to search for plugins first; may be repeated");
  s2s::run::setup_subcommands(app, invocation);
  try {
    app.parse(argc, argv);
    return invocation.selected ? invocation.selected() : 0;
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(s2s::ExitCode::kUsage);
  } catch (const s2s::Error& error) {
    return report(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "error: [internal] %s\n  this is a defect of s2s; please report it with the "
                 "command line\n",
                 error.what());
    return static_cast<int>(s2s::ExitCode::kCheckFailed);
  }
}
