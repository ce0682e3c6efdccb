#include "config/secrets.h"

#include <algorithm>
#include <cctype>

#include "config/interpolation.h"
#include "config/scalar.h"
#include "config/yaml_reader.h"
#include "config/yaml_writer.h"

namespace s2s {
namespace {

constexpr const char* kMask = "***";

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

/// "hfToken", "HF_TOKEN", "HFToken" -> hf, token.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool part_of_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    const bool begins_word =
        i > 0 && is_upper(c) &&
        (!is_upper(name[i - 1]) || (i + 1 < name.size() && is_lower(name[i + 1])));
    if (!part_of_word || begins_word) words.emplace_back();
    if (part_of_word) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  std::erase(words, "");
  return words;
}

/// Words with a blank on either side.
bool holds(std::string_view words, const std::string& word) {
  return words.find(" " + word + " ") != std::string_view::npos;
}

/// What a word in front of "token" or "key" says of it. Words of texts and models (bos, pad, user,
/// sort, ...) say nothing.
bool ends_like_secret(const std::vector<std::string>& words) {
  constexpr std::string_view kTokens =
      " access api auth authentication authorization gh github gitlab hf hub huggingface job jwt "
      "login ngc oauth personal refresh security session slack wandb ";
  constexpr std::string_view kKeys =
      " access account api auth encryption hf license ngc private signing ssh storage wandb ";
  if (words.size() < 2) return false;
  const std::string& last = words.back();
  const std::string& before = words[words.size() - 2];
  return (last == "token" && holds(kTokens, before)) || (last == "key" && holds(kKeys, before));
}

/// Numbers, true, false and nothing tell nobody's secret, but a password may be a number.
bool can_be_secret(const std::string& name, const Config& value) {
  if (!value.is_scalar() || value.text().empty() || value.is_missing()) return false;
  if (!value.quoted() && parse_bool(value.text())) return false;
  return value.quoted() || name != "token" || is_string_text(value.text());
}

Config replaced(const Config& node, const std::string& text) {
  Config value = Config::scalar(text, /*quoted=*/text != "???");
  value.set_origin(node.origin());
  return value;
}

/// Calls `change(name, scalar)` for every scalar; `name` is the nearest key of a secret above it,
/// or "".
template <class Change>
void for_each_scalar(Config& node, const std::string& name, const Change& change) {
  if (node.is_scalar()) return change(name, node);
  for (Config& item : node.items()) for_each_scalar(item, name, change);
  for (auto& [key, child] : node.entries()) {
    for_each_scalar(child, is_secret_name(key) ? key : name, change);
  }
}

/// The expression gives the value again: nobody has put another in its place.
bool gives(const std::string& expression, const Config& value) {
  Config again = Config::map();
  again["value"] = Config::scalar(expression, true);
  Findings findings;
  resolve_interpolations(again, findings);
  const Config& result = *again.find("value");
  return findings.empty() && result.is_scalar() && result.text() == value.text();
}

/// The last steps of "+a.b[0].hf_token", of "--api-key": any of them may name a secret.
bool has_secret_step(std::string_view key) {
  std::string step;
  for (const char c : std::string(key) + ".") {
    if (c != '.' && c != '[' && c != ']') {
      step += c;
    } else {
      if (is_secret_name(step)) return true;
      step.clear();
    }
  }
  return false;
}

/// The value of an override when it is a map or a list with secrets; else as it is.
std::string shown_value(const std::string& text) {
  if (!text.starts_with('{') && !text.starts_with('[')) return text;
  try {
    const Config value = parse_yaml_value(text, {});
    Config shown = shown_config(value);
    return same_value(value, shown) ? text : write_yaml_inline(shown);
  } catch (const Error&) {
    return text.find(':') == std::string::npos ? text : kMask;  // it is refused where it is used
  }
}

}  // namespace

bool is_secret_name(std::string_view name) {
  constexpr std::string_view kWords =
      " password passwords passwd passphrase pwd secret secrets credential credentials bearer "
      "apikey "
      "authtoken accesstoken ";
  const std::vector<std::string> words = words_of(name);
  if (words.size() == 1 && words[0] == "token") return true;
  return ends_like_secret(words) || std::any_of(words.begin(), words.end(), [&](const auto& word) {
           return holds(kWords, word);
         });
}

bool is_secret_value(const Config& node) {
  const std::vector<std::string> variables = environment_variables(node);
  return std::any_of(variables.begin(), variables.end(),
                     [](const std::string& name) { return is_secret_name(name); });
}

Config stored_config(Config resolved) {
  for_each_scalar(resolved, "", [](const std::string& name, Config& node) {
    const auto expression = environment_expression(node);
    if (expression && gives(*expression, node)) {
      node = replaced(node, *expression);
    } else if (!name.empty() && can_be_secret(name, node)) {
      node = replaced(node, "???");
    } else {
      escape_interpolations(node);
    }
  });
  return resolved;
}

Config shown_config(Config resolved) {
  for_each_scalar(resolved, "", [](const std::string& name, Config& node) {
    const bool by_name = !name.empty() && can_be_secret(name, node);
    if (by_name || is_secret_value(node)) node = replaced(node, kMask);
  });
  return resolved;
}

std::string shown_word(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return word;
  const std::string head = word.substr(0, equals + 1), value = word.substr(equals + 1);
  if (!has_secret_step(word.substr(0, equals))) return head + shown_value(value);
  const bool is_reference = value.empty() || value == "???" || value.starts_with("${oc.env:");
  return head + (is_reference ? value : kMask);
}

std::vector<std::string> shown_words(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  bool is_secret = false;
  for (const std::string& word : words) {
    shown.push_back(is_secret ? kMask : shown_word(word));
    const bool is_option = word.starts_with("--") && word.find('=') == std::string::npos;
    is_secret = is_option && is_secret_name(word.substr(2));
  }
  return shown;
}

}  // namespace s2s
