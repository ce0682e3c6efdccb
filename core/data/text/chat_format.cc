#include "text/chat_format.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/foreign_json.h"
#include "s2s/foreign_text.h"
#include "text/text_errors.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;
using jinja::Value;
using Json = nlohmann::ordered_json;

/// ChatML. The model learns what the assistant says and the end of its turn.
constexpr const char* kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ (message['content'] or '') + '<|im_end|>' }}{% endgeneration %}"
    "{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}"
    "{{ '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

std::string folder_of(const Tokenizer& tokenizer) {
  const std::vector<std::string> files = tokenizer.files();
  if (files.empty()) return "";
  const std::string folder = fs::path(files.front()).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Returns nothing if there is no such file.
std::optional<std::string> read_if_there(const std::string& file, const std::string& path,
                                         size_t max_bytes) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  try {
    return read_small_file(file, max_bytes);
  } catch (const std::system_error& error) {
    throw text_errors::no_template(path, "'" + file + "'", error.code().message());
  }
}

Json read_settings(const std::string& folder, const std::string& path) {
  const std::string file = folder + "/tokenizer_config.json";
  const std::optional<std::string> text = read_if_there(file, path, kTokenizerConfigBytes);
  if (!text) return Json::object();
  Json settings = try_parse_foreign_json<Json>(*text, kVocabularyJson);
  if (!settings.is_object()) {
    throw text_errors::no_template(path, "'" + file + "'", "it is no JSON object");
  }
  return settings;
}

/// Returns a token of the settings, which is a text, or an object with the text as its content.
std::optional<std::string> token_text(const Json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (!token.is_object() || !token.contains("content")) return std::nullopt;
  return token["content"].is_string() ? std::optional(token["content"].get<std::string>())
                                      : std::nullopt;
}

/// Returns bos_token and similar variables from the settings, or else from the tokenizer.
std::vector<std::pair<std::string, Value>> token_variables(const Json& settings,
                                                           const Tokenizer& tokenizer) {
  std::vector<std::pair<std::string, Value>> variables;
  for (const auto& [key, token] : settings.items()) {
    const std::optional<std::string> text = token_text(token);
    if (text && key.ends_with("_token")) variables.emplace_back(key, Value::of(*text));
  }
  if (!settings.empty()) return variables;
  try {
    const SpecialIds ids = tokenizer.known_special_ids();
    for (const auto& [name, id] :
         {std::pair{"bos_token", ids.bos}, {"eos_token", ids.eos}, {"pad_token", ids.pad}}) {
      if (id >= 0) variables.emplace_back(name, Value::of(tokenizer.piece(id)));
    }
  } catch (const Error&) {
    // The tokenizer's files contradict each other, so templates get none of them.
  }
  return variables;
}

/// Returns the template of the settings: a text, or of several the one with the name "default".
std::optional<std::string> template_of(const Json& settings) {
  if (!settings.contains("chat_template")) return std::nullopt;
  const Json& given = settings["chat_template"];
  if (given.is_string()) return given.get<std::string>();
  if (given.is_object() && given.contains("default") && given["default"].is_string()) {
    return given["default"].get<std::string>();
  }
  if (!given.is_array()) return std::nullopt;
  for (const Json& named : given) {
    const bool is_default = named.is_object() && named.contains("template") &&
                            named["template"].is_string() &&
                            named.value("name", Json()) == "default";
    if (is_default) return named["template"].get<std::string>();
  }
  return std::nullopt;
}

ChatTemplate parsed(const std::string& name, const std::string& text) {
  try {
    return {name, text};
  } catch (const jinja::TemplateError& error) {
    throw text_errors::template_syntax({name, error.line(), error.column()}, error.what());
  }
}

}  // namespace

ChatFormat::Source ChatFormat::find_source(const ChatTemplateOptions& where,
                                           const Tokenizer& tokenizer) {
  const std::string folder = folder_of(tokenizer);
  const Json settings = folder.empty() ? Json::object() : read_settings(folder, where.path);
  Source source{"", "", token_variables(settings, tokenizer)};
  if (where.chat_template == "chatml") {
    source.name = "chatml";
    source.text = kChatMl;
    return source;
  }
  if (where.chat_template != "tokenizer") {
    source.name = (fs::path(where.base_dir) / where.chat_template).lexically_normal().string();
    const std::optional<std::string> text =
        read_if_there(source.name, where.path, kConfigurationBytes);
    if (!text) throw text_errors::no_template(where.path, "'" + source.name + "'", "no such file");
    source.text = *text;
    return source;
  }
  if (folder.empty()) {
    throw text_errors::no_template(where.path, "the tokenizer", "it has no folder");
  }
  source.name = folder + "/chat_template.jinja";
  if (const auto text = read_if_there(source.name, where.path, kConfigurationBytes)) {
    source.text = *text;
    return source;
  }
  source.name = folder + "/tokenizer_config.json";
  const std::optional<std::string> text = template_of(settings);
  if (!text) {
    throw text_errors::no_template(where.path, "'" + folder + "'",
                                   "the tokenizer has no chat template");
  }
  source.text = *text;
  return source;
}

ChatFormat::ChatFormat(const ChatTemplateOptions& where, const Tokenizer& tokenizer)
    : ChatFormat(find_source(where, tokenizer)) {}

ChatFormat::ChatFormat(Source source)
    : source_(std::move(source)), template_(parsed(source_.name, source_.text)) {}

jinja::MarkedText ChatFormat::render(const Value& messages, bool add_generation_prompt,
                                     const std::string& place, const Value& tools) const {
  std::vector<std::pair<std::string, Value>> variables = source_.variables;
  variables.emplace_back("messages", messages);
  variables.emplace_back("tools", tools);
  variables.emplace_back("documents", Value::none());
  variables.emplace_back("add_generation_prompt", Value::of(add_generation_prompt));
  try {
    return template_.render(variables);
  } catch (const jinja::TemplateError& error) {
    throw text_errors::template_failed(place, {source_.name, error.line(), error.column()},
                                       error.what(), error.is_raised());
  } catch (const jinja::Interrupted&) {
    throw text_errors::template_interrupted(place, source_.name);
  }
}

}  // namespace s2s::data
