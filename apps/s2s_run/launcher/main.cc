// s2s-run. LibTorch needs a third of a second to load, and some commands do not need it: those that
// only read plugins' notes, and no config, and those that start other processes are answered here;
// all others by libs2s_run.so, which is opened for them.

#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/standard_output.h"
#include "plugin/search_path.h"
#include "s2s/error.h"
#include "s2s_run/plugin.h"
#include "s2s_run/program.h"

namespace s2s::run {

void setup_launch(CLI::App& app, Invocation& invocation);

namespace {

/// The command's first two words.
std::vector<std::string> command_words(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc && words.size() < 2; ++i) {
    const std::string word = argv[i];
    if (word == "--plugin-path") {
      ++i;
    } else if (!word.starts_with("-")) {
      words.push_back(word);
    }
  }
  return words;
}

bool reads_notes_only(int argc, char** argv) {
  const auto reads_config = [](const std::string& word) {
    return word == "--config" || word.starts_with("--config=");
  };
  if (std::any_of(argv + 1, argv + argc, reads_config)) return false;
  const std::vector<std::string> words = command_words(argc, argv);
  return words.size() == 2 && words[0] == "plugin" && (words[1] == "list" || words[1] == "path");
}

bool starts_processes(int argc, char** argv) {
  const std::vector<std::string> words = command_words(argc, argv);
  return !words.empty() && words[0] == "launch";
}

SearchInputs search_without_config(const Invocation& invocation, const std::string&) {
  return process_search_inputs(invocation.plugin_paths);
}

void setup_notes(CLI::App& app, Invocation& invocation) {
  setup_plugin_notes(app, invocation, search_without_config);
}

int run_all_commands(int argc, char** argv) {
  const std::filesystem::path prefix =
      std::filesystem::path(this_executable()).parent_path().parent_path();
  const std::string library = prefix / S2S_LIBDIR "/libs2s_run.so";
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const function = handle == nullptr ? nullptr : dlsym(handle, "s2s_run_all_commands");
  if (function == nullptr) {
    std::fprintf(stderr, "error: [internal] %s\n  build or install s2s again\n", dlerror());
    return static_cast<int>(ExitCode::kCheckFailed);
  }
  return reinterpret_cast<int (*)(int, char**)>(function)(argc, argv);
}

}  // namespace

}  // namespace s2s::run

int main(int argc, char** argv) {
  using namespace s2s::run;
  s2s::open_standard_descriptors();
  s2s::escape_standard_output();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of the write, with a message
  if (starts_processes(argc, argv)) return run_program(argc, argv, setup_launch);
  if (reads_notes_only(argc, argv)) return run_program(argc, argv, setup_notes);
  return run_all_commands(argc, argv);
}
