#include "s2s_run/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <set>

#include "base/machine.h"
#include "base/parser_process.h"
#include "base/plugin_code.h"
#include "base/untrusted.h"
#include "launch/engine_contract.h"
#include "launch/launcher_line.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/command_examples.h"
#include "s2s_run/option_spellings.h"

namespace s2s::run {

namespace {

MessageFilter g_filter = nullptr;

/// Prints the error message that ends this process. A rank sends it to its launcher instead.
void show(const launch::LauncherLine& launcher, const std::string& text) {
  const std::string message = printable(g_filter == nullptr ? text : g_filter(text));
  launch::write_error_file(message);
  if (!launcher.tell(message)) std::fprintf(stderr, "%s\n", message.c_str());
}

int report(const launch::LauncherLine& launcher, const Error& error) {
  show(launcher, std::string("error: ") + error.what());
  return static_cast<int>(error.exit_code());
}

/// The innermost command that was parsed.
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

/// The command for a name that other programs use, or for a subcommand without its group:
/// "checkpoint export".
std::string command_elsewhere(const CLI::App& group, const std::string& word) {
  static const std::map<std::string, std::string> kElsewhere = {
      {"resume", "train"},      {"fit", "train"},
      {"finetune", "train"},    {"eval", "validate"},
      {"evaluate", "validate"}, {"test", "validate"},
      {"infer", "generate"},    {"inference", "generate"},
      {"predict", "generate"},  {"transcribe", "generate"},
      {"report", "validate"},   {"version", "--version"},
      {"init", "new"},          {"create", "new"}};
  if (group.get_parent() != nullptr) return "";
  const auto other = kElsewhere.find(word);
  if (other != kElsewhere.end()) return other->second;
  for (const CLI::App* of : group.get_subcommands([](const CLI::App*) { return true; })) {
    for (const CLI::App* command : of->get_subcommands([](const CLI::App*) { return true; })) {
      if (command->get_name() == word) return of->get_name() + " " + word;
    }
  }
  return "";
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
    std::string nearest = command_elsewhere(group, *word);
    if (nearest.empty()) nearest = nearest_name(*word, names);
    message = group_name + " has no command '" + *word + "'" +
              (nearest.empty() ? "" : "\n  did you mean '" + nearest + "'?");
  }
  const bool is_launch = group.get_name() == "launch";
  if (is_launch) message += "\n  write:     " + group_name + " local -n RANKS -- train FILE.yaml";
  message += "\n  known:     " + known;
  if (group.get_name() == "bench" && known.find("llm") == std::string::npos) {
    message +=
        "\n  next:      build the benchmarks of developers (data, fault, llm, model, parallel): "
        "bash core/setup.sh --tests";
  }
  return {ExitCode::kUsage, "usage/command", message + "\n  see:       " + group_name + " --help"};
}

/// For an error of a GPU, its memory from LibTorch's message; otherwise the machine's memory.
std::string device_text(std::string_view reason) {
  const size_t begin = reason.find("GPU ");
  if (reason.find("CUDA out of memory") == std::string_view::npos ||
      begin == std::string_view::npos) {
    return memory_text(machine_memory());
  }
  const size_t end = std::min(reason.find(" is free", begin), reason.size());
  return std::string(reason.substr(begin, end - begin)) + " is free";
}

/// An exception that is no message for users, thrown below the code of a plugin.
Error plugin_exception(const std::string& plugin, const std::string& what) {
  return {ExitCode::kPlugin, "plugin/exception",
          "the plugin " + plugin + " threw an exception: " + what +
              "\n  next:      tell the plugin's author; report one of s2s itself with the command "
              "line"};
}

/// `reason`: the allocator's message.
Error memory_error(std::string_view reason) {
  const double asked = asked_bytes(reason);
  std::string text = "out of memory";
  if (asked > 0) text += ": " + gigabytes_text(asked) + " more were requested at once";
  if (const std::string there = device_text(reason); !there.empty()) text += "; " + there;
  return {ExitCode::kCheckFailed, "run/memory",
          text +
              "\n"
              "  next:      1. smaller batches (data.train_ds.batch_size, batch_duration) or "
              "trainer.strategy.activation_checkpointing=full\n"
              "             2. more ranks that share the model (trainer.strategy.name=fsdp), or "
              "offload=optimizer\n"
              "             3. a smaller model, trainer.precision=bf16-true, or adapters "
              "(model.lora); s2s-run plan CONFIG computes the memory needed"};
}

/// Detects out-of-memory errors of LibTorch's allocators, MKL's FFT and oneDNN, which do not throw
/// std::bad_alloc. oneDNN says only that it made no primitive, where its code found no memory.
bool is_out_of_memory(const std::exception& error) {
  const std::string_view text = error.what();
  for (const char* sign :
       {"can't allocate memory", "Not enough memory to allocate", "out of memory",
        "CUBLAS_STATUS_ALLOC_FAILED", "could not create a primitive"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

/// The configuration key for an option that other programs have.
std::string key_hint(std::string option) {
  static const std::map<std::string, std::string> kKeys = {
      {"--max-steps", "trainer.max_steps=STEPS"},
      {"--steps", "trainer.max_steps=STEPS"},
      {"--epochs", "trainer.max_steps=STEPS"},
      {"--max-epochs", "trainer.max_steps=STEPS"},
      {"--batch-size", "data.train_ds.batch_size=CUTS"},
      {"--lr", "model.optimizer.lr=RATE"},
      {"--learning-rate", "model.optimizer.lr=RATE"},
      {"--seed", "trainer.seed=NUMBER"},
      {"--precision", "trainer.precision=bf16-mixed"},
      {"--bf16", "trainer.precision=bf16-mixed"},
      {"--fp16", "trainer.precision=16-mixed"},
      {"--strategy", "trainer.strategy.name=fsdp"},
      {"--output-dir", "exp_manager.explicit_log_dir=FOLDER"},
      {"--output", "exp_manager.explicit_log_dir=FOLDER"},
      {"--gpus", "trainer.devices=RANKS after: s2s-run launch local -n RANKS -- train ..."},
      {"--devices", "trainer.devices=RANKS after: s2s-run launch local -n RANKS -- train ..."}};
  std::replace(option.begin() + 2, option.end(), '_', '-');
  const auto found = kKeys.find(option);
  return found == kKeys.end() ? "" : "\n  write:     " + found->second;
}

/// The file that Hydra's --config-path=FOLDER and --config-name=NAME mean, or FILE.yaml.
std::string hydra_file(const std::vector<std::string>& left_over) {
  std::string folder, name;
  for (const std::string& word : left_over) {
    if (word.starts_with("--config-path=")) folder = word.substr(14);
    if (word.starts_with("--config-name=")) name = word.substr(14);
  }
  if (name.empty()) return "FILE.yaml";
  const std::filesystem::path file = std::filesystem::path(folder) / name;
  return file.has_extension() ? file.string() : file.string() + ".yaml";
}

/// A hint for common mistakes: options for the configuration, for keys, or for resuming.
std::string override_hint(const std::vector<std::string>& left_over, const std::string& command) {
  static const std::set<std::string> kConfig = {"-c", "--config", "--cfg", "--config-path",
                                                "--config-name"};
  for (const std::string& word : left_over) {
    const size_t equals = std::min(word.find('='), word.size());
    if (kConfig.contains(word.substr(0, equals))) {
      return "\n  write:     " + command + " " + hydra_file(left_over) + " key=value";
    }
    if (word.substr(0, equals) == "--resume") {
      return "\n  next:      omit it: a run resumes from its last checkpoint automatically";
    }
    const bool is_key = word.starts_with("--") && word.find('.') < equals;
    if (is_key) return "\n  write:     " + word.substr(2) + (equals == word.size() ? "=VALUE" : "");
    if (word.starts_with("--") && command.ends_with(" train")) {
      if (const std::string hint = key_hint(word.substr(0, equals)); !hint.empty()) return hint;
    }
  }
  return "";
}

/// The options of `app` and of what it belongs to.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* of = &app; of != nullptr; of = of->get_parent()) {
    for (const CLI::Option* const option : of->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

/// CLI11's message; of words that are left over, those that are no options are named only where no
/// unknown option came before them, because then they would have had a place.
std::string parse_problem(const CLI::App& app, const CLI::App& command,
                          const CLI::ParseError& error) {
  std::vector<std::string> unknown;
  std::string nearest;
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    const bool is_option = word.size() > 1 && word[0] == '-' && word != "--" &&
                           (std::isdigit(static_cast<unsigned char>(word[1])) == 0);
    if (!is_option) continue;
    const std::string name = word.substr(0, word.find('='));
    unknown.push_back(name);
    const std::string meant = nearest_name(name, option_names(command));
    if (!meant.empty()) nearest += "\n  did you mean '" + meant + "'?";
  }
  // The name of the error is the command's here.
  const bool are_left_over = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!are_left_over || unknown.empty()) return error.what();
  const bool is_one = unknown.size() == 1;
  std::string text = std::string("The following ") + (is_one ? "argument was" : "arguments were") +
                     " not expected:";
  for (const std::string& name : unknown) text += " " + name;
  return text + nearest;
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = understood(app);
  if (command.get_require_subcommand_min() > 0 && command.get_subcommands().empty()) {
    return command_error(command, app.remaining(/*recurse=*/true));
  }
  const std::string name = full_name(command);
  return {ExitCode::kUsage, "usage/arguments",
          name + ": " + parse_problem(app, command, error) +
              override_hint(app.remaining(/*recurse=*/true), name) + "\n  see:       " + name +
              " --help"};
}

const CLI::App* command_of(const CLI::App& group, const std::string& name) {
  for (const CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

/// `s2s-run help data shar` is `s2s-run data shar --help`.
std::vector<std::string> arguments_of(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  understand_spellings(words, [&](const std::string& command, const std::string& option) {
    const CLI::App* const group = command_of(app, "launch");
    const CLI::App* const found = group == nullptr ? nullptr : command_of(*group, command);
    return found != nullptr && found->get_option_no_throw(option) != nullptr;
  });
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  std::reverse(words.begin(), words.end());  // CLI11 expects reverse order
  return words;
}

Error file_error(const std::filesystem::filesystem_error& error) {
  return {ExitCode::kData, "io/file",
          error.path1().string() + ": " + error.code().message() +
              "; check the path and its permissions"};
}

/// A launcher has set variables for several ranks, which need the network.
bool is_one_of_several() {
  for (const char* name :
       {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && std::atoi(value) > 1) return true;
  }
  return false;
}

/// --untrusted, before the command runs. Commands that start the processes of a run keep their
/// rights; these processes do not, because they inherit S2S_UNTRUSTED.
void distrust(const CLI::App& app) {
  const CLI::App* command = &app;
  if (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::string name = command->get_name();
  if (name == "launch" || name == "doctor") return;
  static const std::set<std::string> kLong = {"train", "validate", "generate",      "tune-batch",
                                              "bench", "data",     "deepspeed-args"};
  start_parser_processes();
  lose_rights({.network = is_one_of_several(), .long_work = kLong.contains(name)});
}

struct EndOfParsers {
  ~EndOfParsers() { end_parser_processes(); }
};

}  // namespace

int run_program(int argc, char** argv, void (*setup)(const Command&), MessageFilter filter) {
  g_filter = filter;
  tell_crashed_plugins();
  const launch::LauncherLine launcher;
  CLI::App app{"s2s-run: trains, evaluates and runs duplex speech-to-speech models", "s2s-run"};
  app.set_version_flag("-v,--version", S2S_VERSION_TEXT);
  app.require_subcommand(1);
  app.fallthrough();  // --plugin-path is also accepted after the subcommand
  const EndOfParsers at_the_end;
  Invocation invocation;
  const Command program(&app, &invocation);
  program
      .option("--plugin-path", invocation.plugin_paths,
              "folder to search for plugins before all others; may be repeated")
      .takes_one();
  program.flag(
      "--untrusted", invocation.untrusted,
      "for files of strangers: no commands, no other plugins, no programs, parsers without "
      "rights, limits of memory and time (SECURITY.md); S2S_UNTRUSTED=1 does the same");
  setup(program);
  app.footer(example_footer(""));  // set last, because commands would inherit it
  try {
    app.parse(arguments_of(app, argc, argv));
    if (invocation.untrusted) set_untrusted();
    if (is_untrusted()) distrust(app);
    return invocation.selected ? launch::answer_engine(invocation.selected()) : 0;
  } catch (const CLI::ParseError& error) {
    const bool is_answer = error.get_exit_code() == 0;  // --help, --version
    return is_answer ? app.exit(error) : report(launcher, usage_error(app, error));
  } catch (const Error& error) {
    return report(launcher, error);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(launcher, file_error(error));
  } catch (const std::bad_alloc&) {
    return report(launcher, memory_error(""));
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) return report(launcher, memory_error(error.what()));
    if (const char* const plugin = plugin_that_threw(dynamic_cast<const void*>(&error))) {
      return report(launcher, plugin_exception(plugin, error.what()));
    }
    show(launcher, std::string("error: [internal] ") + error.what() +
                       "\n  this is a defect of s2s; please report it with the command line");
    return static_cast<int>(ExitCode::kCheckFailed);
  }
}

}  // namespace s2s::run
