// s2s-run config show CONFIG [KEY...] [key=value...], config check CONFIG [key=value...]: the
// effective config, or some of its keys, with the origin of every value, and every finding about
// it, as `train` sees it. No memory is spent.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <sstream>

#include "config/config_json.h"
#include "config/secrets.h"
#include "config/yaml_writer.h"
#include "run/run_config.h"
#include "s2s/foreign_text.h"
#include "s2s_run/config/check_files.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

using Json = nlohmann::ordered_json;

Json findings_json(const RunCheck& checked) {
  Json json = Json::array();
  for (const Error& error : checked.findings.errors()) {
    json.push_back({{"id", error.id()}, {"message", error.message()}});
  }
  return json;
}

Json notes_json(const ConfigNotes& notes) {
  return {{"notes", notes.all()}, {"warnings", notes.warnings}};
}

void print_notes(const char* indent, const ConfigNotes& notes,
                 std::string (*shown)(std::string_view)) {
  for (const std::string& note : notes.all()) {
    std::printf("%snote: %s\n", indent, shown(note).c_str());
  }
  for (const std::string& warning : notes.warnings) {
    std::printf("%swarning: %s\n", indent, shown(warning).c_str());
  }
}

void print_findings(std::FILE* out, const RunCheck& checked) {
  for (const Error& error : checked.findings.errors()) {
    std::fprintf(out, "error: %s\n", printable(error.what()).c_str());
  }
}

int exit_code(const RunCheck& checked) {
  return static_cast<int>(checked.findings.empty() ? ExitCode::kOk : ExitCode::kConfig);
}

int run_check(const ConfigArguments& arguments, const Invocation& invocation) {
  const RunConfig config(arguments, RunPurpose::kTrain, invocation);
  RunCheck checked = config.check();
  if (checked.findings.empty()) check_files(config, checked);
  if (invocation.json) {
    Json json = {{"findings", findings_json(checked)}};
    json.update(notes_json(checked.notes));
    std::printf("%s\n", json.dump(2).c_str());
    return exit_code(checked);
  }
  print_findings(stdout, checked);
  print_notes("", checked.notes, printable);
  if (checked.findings.empty()) std::printf("ok\n");
  return exit_code(checked);
}

bool is_key(const std::string& word) {
  const auto is_of_key = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  };
  return !word.empty() && word.front() != '-' && std::all_of(word.begin(), word.end(), is_of_key);
}

/// The words that are keys and no changes: taken out of `words`.
std::vector<std::string> take_keys(std::vector<std::string>& words) {
  const auto keys = std::stable_partition(words.begin(), words.end(),
                                          [](const std::string& word) { return !is_key(word); });
  std::vector<std::string> taken(keys, words.end());
  words.erase(keys, words.end());
  return taken;
}

/// What these keys hold, at their places; all of it without keys. Errors: [config/no-key].
Config part_of(const Config& config, const std::vector<std::string>& keys) {
  if (keys.empty()) return config;
  Config part = Config::map();
  for (const std::string& key : keys) {
    const Config* const found = config.find_path(key);
    if (found == nullptr) {
      throw Error(ExitCode::kConfig, "config/no-key",
                  "the configuration has no '" + printable_name(key) +
                      "'; expected keys with points between them, as model.llm; without one, "
                      "all of it is shown");
    }
    Config* at = &part;
    std::istringstream names(key);
    for (std::string name; std::getline(names, name, '.');) at = &(*at)[name];
    *at = *found;
  }
  return part;
}

int run_show(ConfigArguments arguments, const Invocation& invocation) {
  const std::vector<std::string> keys = take_keys(arguments.overrides);
  const RunConfig config(arguments, RunPurpose::kTrain, invocation);
  const RunCheck& checked = config.check();
  const Config shown = part_of(shown_config(checked.config), keys);
  if (invocation.json) {
    Json json = {{"config", config_json(shown)},
                 {"origins", origins_json(shown)},
                 {"findings", findings_json(checked)}};
    json.update(notes_json(checked.notes));
    std::printf("%s\n", json.dump(2).c_str());
    return exit_code(checked);
  }
  YamlStyle style;
  style.show_origins = true;
  style.resolved = true;
  std::printf("%s", write_yaml(shown, style).c_str());
  print_notes("# ", checked.notes, printable_name);
  print_findings(stderr, checked);
  return exit_code(checked);
}

}  // namespace

void setup_config(const Command& program) {
  const Command group = program.group("config", "look at a configuration");
  const Command show =
      group.command("show", "the effective config, with the origin of every value");
  add_config_arguments(show, show.runs(run_show),
                       "keys to show alone, as model.llm; changes: key.path=value, ~key removes");
  show.json("print JSON");
  const Command check = group.command(
      "check", "every finding that training would have before its first step, without training");
  add_config_arguments(check, check.runs(run_check));
  check.json("print JSON");
}

}  // namespace s2s::run
