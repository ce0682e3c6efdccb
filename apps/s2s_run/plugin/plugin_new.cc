// s2s-run plugin new KIND NAME: creates a project for a plugin from the SDK's templates.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "plugin/plugin_errors.h"
#include "plugin/search_path.h"
#include "s2s/foreign_text.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"
#include "s2s_run/template_copy.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

struct NewArguments {
  std::string kind, name, folder;
  bool force = false;
};

fs::path template_root() { return shared_files() / "template"; }

std::vector<std::string> known_kinds() {
  std::vector<std::string> kinds;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(template_root(), ignored)) {
    kinds.push_back(entry.path().filename().string());
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

/// True for vendor.name where both parts are valid C++ identifiers.
bool is_third_party_name(const std::string& name) {
  const size_t dot = name.find('.');
  const auto is_word = [](const std::string& word) {
    return !word.empty() && !std::isdigit(static_cast<unsigned char>(word[0])) &&
           word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  };
  return dot != std::string::npos && is_word(name.substr(0, dot)) && is_word(name.substr(dot + 1));
}

/// The plugin's name, for files and namespaces: acme.mistral -> acme_mistral.
std::string plugin_name(const std::string& component) { return replaced(component, ".", "_"); }

/// Writes configs/tiny.yaml with the new language model.
void write_tiny_config(const fs::path& to, const std::string& component) {
  std::string text = read_small_file((shared_files() / "configs/tiny.yaml").string());
  text = replaced(text, "build/bin/s2s-run train configs/", "S2S_PLUGIN_PATH=build s2s-run train ");
  text = replaced(text, "build/bin/s2s-run config check configs/",
                  "S2S_PLUGIN_PATH=build s2s-run config check ");
  const std::string before = "  llm:\n    name: ";
  const size_t begin = text.find(before);
  S2S_ASSERT(begin != std::string::npos, "configs/tiny.yaml names its language model first");
  const size_t name = begin + before.size();
  text.replace(name, text.find('\n', name) - name, component);
  write_file_atomically((to / "tiny.yaml").string(), text);
}

int make_project(const NewArguments& arguments, const Invocation&) {
  const std::vector<std::string> kinds = known_kinds();
  if (std::find(kinds.begin(), kinds.end(), arguments.kind) == kinds.end()) {
    throw new_kind_error(arguments.kind, kinds, template_root().string());
  }
  if (!is_third_party_name(arguments.name)) throw new_name_error(arguments.name);
  const fs::path folder = arguments.folder.empty() ? plugin_name(arguments.name) : arguments.folder;
  require_new({folder.string()}, arguments.force);
  copy_template(template_root() / arguments.kind, folder,
                {{"PLUGIN_NAME", plugin_name(arguments.name)}, {"COMPONENT_NAME", arguments.name}});
  copy_template(shared_files() / "template_ci", folder / ".github/workflows",
                {{"PLUGIN_NAME", plugin_name(arguments.name)}, {"PLUGIN_KIND", arguments.kind}});
  if (arguments.kind == "llm") write_tiny_config(folder, arguments.name);
  fmt::print("{}: a plugin for {}:{}\n", folder.string(), arguments.kind, arguments.name);
  const fs::path prefix = install_prefix();
  fs::path sdk = prefix;
  std::error_code ignored;
  if (!fs::exists(sdk / "lib/cmake/s2s", ignored)) {  // a build tree
    sdk /= "installed";
    fmt::print("  cmake --install {} --prefix {}\n", prefix.string(), sdk.string());
  }
  fmt::print("  cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH={1}\n", folder.string(),
             sdk.string());
  fmt::print("  cmake --build {}/build\n", folder.string());
  fmt::print("  {} plugin check {}/build/libs2s_{}_{}.so\n", this_executable(), folder.string(),
             arguments.kind, plugin_name(arguments.name));
  fmt::print("see {}/README.md\n", folder.string());
  return 0;
}

}  // namespace

void setup_plugin_new(const Command& group) {
  const Command command =
      group.command("new", "create a plugin project that builds and passes its test");
  NewArguments& arguments = command.runs(make_project);
  command
      .option(
          "kind", arguments.kind,
          "kind of plugin: codec, data, encoder, llm, logger, metric, model, optimizer, schedule, "
          "scorer, strategy, tokenizer")
      .required();
  command.option("name", arguments.name, "its name in configurations, as vendor.name").required();
  command.option("--out", arguments.folder, "folder to create (default: vendor_name)");
  command.force(arguments.force);
}

}  // namespace s2s::run
