#include "config/config_errors.h"

#include <cmath>

#include "base/text.h"
#include "config/scalar.h"
#include "config/secrets.h"
#include "config/url_secrets.h"

namespace s2s {

namespace {

Error make(const char* id, std::string message) {
  return {ExitCode::kConfig, id, std::move(message)};
}

/// What to write instead, when the value nearly says it.
std::string type_hint(const Config& node, std::string_view expected) {
  if (!node.is_scalar()) return "";
  const std::string& text = node.text();
  if (expected == "true or false") {
    if (text == "1" || text == "yes" || text == "on") return "; write true";
    if (text == "0" || text == "no" || text == "off") return "; write false";
  }
  if (node.quoted() && parse_float(text)) return "; write it without quotes";
  const auto number = parse_float(text);
  if (expected == "an integer" && text.size() > 18 &&
      text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == std::string::npos) {
    return "; write a number of at most 9223372036854775807";
  }
  if (expected == "an integer" && number && *number == std::floor(*number) &&
      std::abs(*number) < 1e15) {
    return "; write " + std::to_string(static_cast<int64_t>(*number));
  }
  if (expected.starts_with("a list")) return "; write [" + text + "]";
  return "";
}

}  // namespace

std::string config_place(std::string_view path, const Config& node) {
  const std::string origin = node.origin().text();
  const std::string name = path.empty() ? "the config" : std::string(path);
  return origin.empty() ? name : name + " (" + origin + ")";
}

namespace {

/// A message shows the beginning of a long value.
std::string shortened(const std::string& text) {
  constexpr size_t kShown = 60;
  std::string shown = without_url_secrets(without_secret_defaults(text));
  if (shown.size() > kShown + 3) shown.replace(kShown, std::string::npos, "...");
  return shown;
}

}  // namespace

std::string config_value(const Config& node) {
  switch (node.kind()) {
    case Config::Kind::kNull:
      return "null";
    case Config::Kind::kScalar:
      if (is_secret_value(node)) return "a hidden value";
      return node.quoted() || is_string_text(node.text()) ? "\"" + shortened(node.text()) + "\""
                                                          : shortened(node.text());
    case Config::Kind::kList:
      return "a list";
    case Config::Kind::kMap:
      return "a map";
  }
  return "";
}

Error type_error(std::string_view path, const Config& node, std::string_view expected) {
  return make("config/type", config_place(path, node) + ": expected " + std::string(expected) +
                                 ", got " + config_value(node) + type_hint(node, expected));
}

Error missing_value_error(std::string_view path, const Config& node) {
  return make("config/missing",
              config_place(path, node) + ": the value is mandatory but still ???; give " +
                  "one in the file or on the command line: " + std::string(path) + "=VALUE");
}

Error missing_key_error(std::string_view path, const Config& parent, std::string_view doc) {
  const std::string origin = parent.origin().text();
  return make("config/missing", std::string(path) + " is required" +
                                    (origin.empty() ? "" : " in the block at " + origin) + ": " +
                                    std::string(doc) + "; add it to the file or give " +
                                    std::string(path) + "=VALUE on the command line");
}

Error bounds_error(std::string_view path, const Config& node, const std::string& expected) {
  return make("config/bounds",
              config_place(path, node) + ": expected " + expected + ", got " + config_value(node));
}

Error choice_error(std::string_view path, const Config& node,
                   const std::vector<std::string>& choices) {
  const std::string nearest = nearest_name(node.text(), choices);
  return make("config/choice", config_place(path, node) + ": got " + config_value(node) +
                                   ", expected one of: " + joined(choices, ", ") +
                                   (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

Error program_error(std::string_view path, const Config& node) {
  return make("config/program",
              config_place(path, node) + ": got " + config_value(node) +
                  ", but the configuration of a checkpoint must not name a program to run; give " +
                  std::string(path) + "=... on the command line if you trust it");
}

Error unknown_key_error(std::string_view key, std::string_view parent_path, const Config& node,
                        const std::vector<std::string>& known, const std::string& instead) {
  const std::string nearest = nearest_name(key, known);
  const std::string origin = node.origin().text();
  std::string message = "unknown key '" + std::string(key) + "' in " +
                        (parent_path.empty() ? "the config" : std::string(parent_path)) +
                        (origin.empty() ? "" : " (" + origin + ")");
  if (!instead.empty()) return make("config/unknown-key", message + "; " + instead);
  if (!nearest.empty())
    return make("config/unknown-key", message + "; did you mean '" + nearest + "'?");
  if (known.empty()) return make("config/unknown-key", message + "; it has no options");
  return make("config/unknown-key", message + "; known: " + joined(known, ", "));
}

Error duration_error(std::string_view path, const Config& node) {
  return make("config/duration", config_place(path, node) +
                                     ": expected a duration DD:HH:MM:SS, as " +
                                     "00:03:50:00, got " + config_value(node));
}

Error pattern_error(std::string_view path, const Config& node, const std::string& reason) {
  return make("config/pattern", config_place(path, node) + ": " + config_value(node) +
                                    " is not a valid regular expression: " + reason +
                                    "; expected a pattern that " +
                                    "is matched at the start of parameter names, as '^llm\\..+$'");
}

Error no_datasets_error(const std::string& key) {
  return make("config/no-datasets",
              key + " is missing or empty; expected at least one data set, for example " + key +
                  (key.ends_with("datasets") ? ".NAME" : "") + ": {name: ...}");
}

Error validation_repeat_error(std::string_view path, const Config& node) {
  return make(
      "config/validation-repeat",
      config_place(path, node) +
          ": a validation set with repeat: true never ends; remove the key, or set it to false");
}

Error no_file_error(const std::string& file, const std::string& nearest) {
  return make("config/no-file", "no config file '" + file + "'" +
                                    (nearest.empty() ? "; give the path of a .yaml file"
                                                     : "; did you mean '" + nearest + "'?"));
}

Error unreadable_file_error(const std::string& file, const std::string& reason) {
  return make("config/unreadable", "cannot read config file '" + file + "': " + reason);
}

Error syntax_error(const Origin& origin, const std::string& reason) {
  return make("config/syntax", origin.text() + ": " + reason);
}

Error duplicate_key_error(const std::string& key, const Origin& first, const Origin& second) {
  return make("config/duplicate-key", second.text() + ": key '" + key +
                                          "' occurs twice in one map, first at " + first.text() +
                                          "; remove one of them");
}

Error override_error(const std::string& text, const std::string& reason) {
  return make("config/override", "command line: " + shown_word(text) + ": " + reason);
}

Error interpolation_error(std::string_view path, const Config& node, const std::string& reason) {
  return make("config/interpolation",
              config_place(path, node) + ": " + reason + " (in " + config_value(node) + ")");
}

Error interpolation_cycle_error(const std::vector<std::string>& cycle, const Config& node) {
  return make("config/interpolation-cycle",
              config_place(cycle.front(), node) + ": circular interpolation: " +
                  joined(cycle, " -> ") + "; give one of them a value");
}

}  // namespace s2s
