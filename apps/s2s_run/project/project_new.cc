// s2s-run new PROJECT: creates a project folder with a working configuration, data, a SLURM job and
// a README.

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/atomic_file.h"
#include "config/load_config.h"
#include "plugin/search_path.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/data/data_synth.h"
#include "s2s_run/subcommands.h"
#include "s2s_run/synth/partial_folder.h"
#include "s2s_run/template_copy.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// [project/name]: `project`, as given, does not end in a valid project name.
Error project_name_error(const std::string& project) {
  return {
      ExitCode::kUsage, "project/name",
      "s2s-run new: '" + project +
          "' does not end in a valid project name\n"
          "  expected:  letters, digits, '_', '.' and '-', starting with a letter, a digit or '_'\n"
          "  next:      choose another name, for example my-project"};
}

/// [project/exists]: the path exists.
Error project_exists_error(const std::string& folder) {
  return {ExitCode::kData, "project/exists",
          "s2s-run new: '" + folder +
              "' already exists; nothing was written\n"
              "  expected:  a folder that does not exist\n"
              "  next:      choose another name, or move this one away"};
}

struct ProjectArguments {
  std::string folder;
  std::string from = "tiny";  // the template: a file of configs/
};

/// True for a name that is valid as a folder, a SLURM job and a YAML value.
bool is_project_name(const std::string& name) {
  constexpr const char* kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const auto is_letter = [&](char c) {
    return std::string_view(kLetters).find(c) != std::string::npos;
  };
  return !name.empty() && is_letter(name.front()) &&
         name.find_first_not_of(std::string(kLetters) + ".-") == std::string::npos;
}

/// The template's configuration with the project's folders. It creates its data on first use.
std::string project_config(const std::string& from, const std::string& name) {
  std::string text = read_small_file((shared_files() / "configs" / (from + ".yaml")).string());
  text.erase(0, text.find("\n\n"));  // the header comment is only valid in the repository
  text = replaced(text, "${" + from + ".", "${project.");
  text = replaced(text, "\n" + from + ":\n", "\nproject:\n");
  text = replaced(text, "runs/" + from + "-data", "data");
  text = replaced(text, "runs/" + from + "\n", "runs/first\n");
  text = replaced(text, "\n  name: " + from + "\n", "\n  name: " + name + "\n");
  const bool makes_data = text.find("\n  synth: ") != std::string::npos;
  if (!makes_data) {
    text = replaced(text, "\ndata:\n",
                    "\ndata:\n  synth: { path: \"${project.data}\", size: full, seed: 1 }\n");
  }
  S2S_ASSERT(text.find("\nproject:\n  data: data\n  run: runs/first\n") != std::string::npos,
             "the last block of a template's configuration names its two folders");
  return "# " + name + ": created by `s2s-run new` from the template " + from +
         ".\n# See README.md for the next steps." + text;
}

/// Synthesizes the data of the smallest template, which takes seconds. The first run creates the
/// data of other templates.
void make_example_data(const fs::path& folder) {
  Config config = load_config((folder / "config.yaml").string());
  resolve_interpolations(config);
  make_configured_set(config, folder);
}

int make_new_project(const ProjectArguments& arguments, const Invocation&) {
  fs::path folder = arguments.folder;
  if (!folder.has_filename()) folder = folder.parent_path();  // a trailing slash
  const std::string name = folder.filename().string();
  if (!is_project_name(name)) throw project_name_error(arguments.folder);
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(folder, ignored))) throw project_exists_error(folder.string());
  synth::PartialFolder made(folder);
  copy_template(
      shared_files() / "template_project", made.path(),
      {{"PROJECT_NAME", name}, {"TEMPLATE_NAME", arguments.from}, {"STRATEGY_NAME", "ddp"}});
  write_file_atomically((made.path() / "config.yaml").string(),
                        project_config(arguments.from, name));
  if (arguments.from == "tiny") make_example_data(made.path());
  made.commit();
  fmt::print("{}: a project from the template {}\n", folder.string(), arguments.from);
  fmt::print("  cd {}\n", folder.string());
  fmt::print("  {} config check config.yaml\n", this_executable());
  fmt::print("  {} train config.yaml\n", this_executable());
  fmt::print("see {}/README.md\n", folder.string());
  return 0;
}

}  // namespace

void setup_new(const Command& program) {
  const Command command = program.command(
      "new", "create a project folder with a configuration, data, a SLURM job and a README");
  ProjectArguments& arguments = command.runs(make_new_project);
  command
      .option("project", arguments.folder,
              "folder to create; its last component is the project name")
      .required();
  command
      .option("--template", arguments.from,
              "tiny: trains in seconds on any machine; demo: the demo model, trains in minutes")
      .one_of({"tiny", "demo"})
      .shows_default();
}

}  // namespace s2s::run
