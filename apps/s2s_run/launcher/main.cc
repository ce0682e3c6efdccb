// The programs s2s-run and s2s-bench (tests/benchmark/commands). Loading LibTorch takes a third of
// a second, and some commands do not need it. Commands that only read plugins' notes, and commands
// that start other processes, run here. For all others this opens libs2s_run.so or libs2s_bench.so.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/standard_output.h"
#include "plugin/search_path.h"
#include "s2s/error.h"
#include "s2s_run/program.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

constexpr const char* kBench = "s2s-bench";

/// The first two words of the command; `help` is none.
std::vector<std::string> command_words(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc && words.size() < 2; ++i) {
    const std::string word = argv[i];
    if (word == "--plugin-path") {
      ++i;
    } else if (!word.starts_with("-") && (word != "help" || !words.empty())) {
      words.push_back(word);
    }
  }
  return words;
}

/// SLURM warns a job before its time is over (--signal), and the warning may come while LibTorch is
/// loaded. `train` holds it back until it can write a checkpoint; other commands end.
/// Runs before the constructors of all libraries: it allocates nothing.
void hold_warnings_of_training(int argc, char** argv, char** /*environment*/) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--plugin-path") == 0) {
      ++i;
    } else if (argv[i][0] != '-') {
      if (std::strcmp(argv[i], "train") == 0) hold_warnings();
      return;
    }
  }
}

// The loader calls these of a program first, after it has mapped and bound its libraries.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const g_before_libraries)(int, char**, char**) = hold_warnings_of_training;

bool reads_notes_only(int argc, char** argv) {
  const auto reads_config = [](const std::string& word) {
    return word == "--config" || word.starts_with("--config=");
  };
  if (std::any_of(argv + 1, argv + argc, reads_config)) return false;
  const std::vector<std::string> words = command_words(argc, argv);
  return words.size() == 2 && words[0] == "plugin" && (words[1] == "list" || words[1] == "path");
}

/// Becomes s2s-bench for the benchmarks of developers, which a build tree with tests has beside
/// this program. Returns where there is none, and for other commands.
void become_bench(int argc, char** argv) {
  const std::vector<std::string> words = command_words(argc, argv);
  if (words.size() < 2 || words[0] != "bench") return;
  if (words[1] == "train" || words[1] == "collectives") return;
  std::filesystem::path program = this_executable();
  if (program.filename() != kBench) execv(program.replace_filename(kBench).c_str(), argv);
}

bool starts_processes(int argc, char** argv) {
  const std::vector<std::string> words = command_words(argc, argv);
  return !words.empty() && words[0] == "launch";
}

bool explains(int argc, char** argv) {
  const std::vector<std::string> words = command_words(argc, argv);
  return !words.empty() && words[0] == "explain";
}

SearchInputs search_without_config(const Invocation& invocation, const std::string&) {
  return process_search_inputs(invocation.plugin_paths);
}

void setup_notes(const Command& program) {
  program.invocation().search = search_without_config;
  setup_plugin_notes(program);
}

/// The first component of a path that this account cannot enter or read; "" when it can read the
/// path.
std::string closed_part(const std::filesystem::path& path) {
  std::filesystem::path part;
  for (const auto& name : path) {
    part /= name;
    const bool is_last = part == path;
    if (::access(part.c_str(), is_last ? R_OK : X_OK) != 0 && errno == EACCES) return part;
  }
  return "";
}

/// The reason why libs2s_run.so cannot be opened. LibTorch may be in another user's home directory.
Error library_error(const std::string& reason) {
  constexpr const char* kLibTorch = S2S_TORCH_LIBRARY;
  const std::string closed = closed_part(kLibTorch);
  if (closed.empty()) {
    return {ExitCode::kCheckFailed, "install/library",
            reason + "\n  next:      build or install s2s again; LibTorch was at " + kLibTorch};
  }
  return {ExitCode::kCheckFailed, "install/library",
          std::string("this account has no permission to read LibTorch: ") + kLibTorch + ": '" +
              closed +
              "' is not readable\n"
              "  next:      build with S2S_DEPS_DIR=FOLDER bash core/setup.sh and a folder that "
              "all accounts can read, or make this one readable (chmod o+rx)"};
}

/// LibTorch's OpenMP threads spin while they wait for the next operator. They then keep processors
/// from each other when another program runs, and training takes many times as long. With this they
/// spin about as long as a wake-up takes, then sleep. What the user has set stays.
/// Must come before LibTorch is loaded: libgomp reads its environment only then.
void limit_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "2000", /*overwrite=*/0);
}

int run_all_commands(int argc, char** argv) {
  limit_spinning();
  const std::filesystem::path self = this_executable();
  const std::string library = self.parent_path().parent_path() / S2S_LIBDIR /
                              (self.filename() == kBench ? "libs2s_bench.so" : "libs2s_run.so");
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const function = handle == nullptr ? nullptr : dlsym(handle, "s2s_run_all_commands");
  if (function == nullptr) {
    std::fprintf(stderr, "error: %s\n", library_error(dlerror()).what());
    return static_cast<int>(ExitCode::kCheckFailed);
  }
  return reinterpret_cast<int (*)(int, char**)>(function)(argc, argv);
}

/// A command fails if its output could not be written.
int with_output(int exit_code) {
  const int reason = s2s::finish_standard_output();
  if (reason == 0) return exit_code;
  const Error error(ExitCode::kCheckFailed, "io/output",
                    std::string("standard output cannot be written: ") + std::strerror(reason) +
                        "; the output is incomplete\n"
                        "  next:      free some space, or redirect the output to another place");
  std::fprintf(stderr, "error: %s\n", error.what());
  return exit_code == 0 ? static_cast<int>(ExitCode::kCheckFailed) : exit_code;
}

}  // namespace

}  // namespace s2s::run

int main(int argc, char** argv) {
  using namespace s2s::run;
  become_bench(argc, argv);
  s2s::open_standard_descriptors();
  s2s::escape_standard_output();
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit becomes an error of the write, with a message
  if (starts_processes(argc, argv)) return with_output(run_program(argc, argv, setup_launch));
  if (explains(argc, argv)) return with_output(run_program(argc, argv, setup_explain));
  if (reads_notes_only(argc, argv)) return with_output(run_program(argc, argv, setup_notes));
  return with_output(run_all_commands(argc, argv));
}
