#include "config/secrets.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <mutex>
#include <set>

#include "config/interpolation.h"
#include "config/interpolation_text.h"
#include "config/scalar.h"
#include "config/url_secrets.h"
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

/// `words` are surrounded by spaces.
bool holds(std::string_view words, const std::string& word) {
  return words.find(" " + word + " ") != std::string_view::npos;
}

/// Whether the word before "token" or "key" makes it a secret. Words about text and models (bos,
/// pad, user, sort, ...) do not.
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

/// A filter or a computation: low_pass, forward_pass.
bool is_technical_pass(const std::vector<std::string>& words) {
  constexpr std::string_view kBefore =
      " low high band all forward backward first second one two single multi per ";
  const auto pass = std::find(words.begin(), words.end(), "pass");
  return pass != words.begin() && pass != words.end() && holds(kBefore, *(pass - 1));
}

/// The values of this process's variables with secret names, because a shell replaces $NAME by
/// them. Leaves out short values, PWD and file paths, which occur in too many texts.
std::vector<std::string> secret_variables() {
  constexpr size_t kLeastBytes = 8;
  std::vector<std::string> values;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const char* const equals = std::strchr(*entry, '=');
    if (equals == nullptr) continue;
    const std::string_view name(*entry, static_cast<size_t>(equals - *entry));
    const std::string value = equals + 1;
    if (value.size() < kLeastBytes || name == "PWD" || !is_secret_name(name)) continue;
    if (access(value.c_str(), F_OK) != 0) values.push_back(value);
  }
  return values;
}

/// Numbers, booleans and null are no secrets. Only a password may be a number.
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

/// Calls `change(name, scalar)` for every scalar. `name` is the outermost secret key above it, or
/// "". A key below `token` replaces it.
template <class Change>
void for_each_scalar(Config& node, const std::string& name, const Change& change) {
  if (node.is_scalar()) return change(name, node);
  for (Config& item : node.items()) for_each_scalar(item, name, change);
  for (auto& [key, child] : node.entries()) {
    const bool is_outermost = (name.empty() || name == "token") && is_secret_name(key);
    for_each_scalar(child, is_outermost ? key : name, change);
  }
}

/// The default of a value that comes from "${oc.env:NAME,DEFAULT}"; else "".
std::string default_of(const Config& node) {
  const std::string expression = environment_expression(node).value_or("");
  if (!expression.starts_with(kReference)) return "";
  const size_t comma = expression.find(','), end = closing_brace(expression, 0);
  return comma < end && end != std::string::npos ? expression.substr(comma + 1, end - comma - 1)
                                                 : "";
}

constexpr size_t kLeastSecretBytes = 4;  // shorter ones occur in too many texts

/// Calls `use` for each text below `resolved` with a secret key. `name` is the key of `resolved`.
template <class Use>
void for_each_secret(Config& resolved, const std::string& name, const Use& use) {
  for_each_scalar(resolved, name, [&use](const std::string& key, const Config& node) {
    if (key.empty() || !can_be_secret(key, node)) return;
    for (const std::string& text : {node.text(), default_of(node)}) {
      if (text.size() >= kLeastSecretBytes) use(text);
    }
  });
}

struct RememberedSecrets {
  std::mutex mutex;
  std::set<std::string> texts;  // guarded by mutex
};

RememberedSecrets& remembered_secrets() {
  static RememberedSecrets of_the_process;
  return of_the_process;
}

/// Finds the values of secret keys in other texts.
class SecretTexts {
 public:
  /// `others`: secrets that are not in the configuration.
  explicit SecretTexts(Config& resolved, const std::vector<std::string>& others = {}) {
    std::vector<std::string> all;
    for (const std::string& text : others) all.push_back(text.substr(0, kMostBytes));
    for_each_secret(resolved, "",
                    [&all](const std::string& text) { all.push_back(text.substr(0, kMostBytes)); });
    {
      RememberedSecrets& remembered = remembered_secrets();
      const std::lock_guard lock(remembered.mutex);
      for (const std::string& text : remembered.texts) all.push_back(text.substr(0, kMostBytes));
    }
    std::sort(all.begin(), all.end());
    for (std::string& text : all) {
      if (texts_.empty() || !text.starts_with(texts_.back())) texts_.push_back(std::move(text));
    }
  }

  bool occur_in(std::string_view text) const {
    if (texts_.empty()) return false;
    for (size_t at = 0; at + kLeastBytes <= text.size(); ++at) {
      // No secret is a prefix of another. So only the last one that sorts before `rest` can match.
      const std::string_view rest = text.substr(at, kMostBytes);
      const auto next = std::upper_bound(texts_.begin(), texts_.end(), rest);
      if (next != texts_.begin() && rest.starts_with(*std::prev(next))) return true;
    }
    return false;
  }

  /// A number can contain a secret only if it comes from a reference: seeds and sizes have any
  /// digits.
  bool occur_in(const Config& node) const {
    const bool is_number = !node.quoted() && !is_string_text(node.text());
    return !(is_number && node.origin().via.empty()) && occur_in(node.text());
  }

 private:
  static constexpr size_t kLeastBytes = kLeastSecretBytes;
  static constexpr size_t kMostBytes = 256;  // longer secrets are compared up to this length
  std::vector<std::string> texts_;           // sorted
};

/// "${oc.env:NAME}", if the text is only this reference, with or without a default; else nothing.
std::optional<std::string> bare_reference(const std::string& text) {
  if (!text.starts_with(kReference) || closing_brace(text, 0) != text.size() - 1) {
    return std::nullopt;
  }
  const size_t begin = sizeof(kReference) - 1;
  const std::string name = text.substr(begin, text.find_first_of(",}", begin) - begin);
  const bool is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
  return is_plain ? std::optional(kReference + name + "}") : std::nullopt;
}

/// True if the expression still evaluates to the value. The expression of a secret has no default.
bool gives(const std::string& expression, const Config& value, bool is_secret) {
  Config again = Config::map();
  again["value"] = Config::scalar(expression, true);
  Findings findings;
  resolve_interpolations(again, findings);
  const Config& result = *again.find("value");
  if (!findings.empty()) return is_secret;
  return result.is_scalar() && result.text() == value.text();
}

/// The form of a value in files. Nothing if it is the value itself.
std::optional<std::string> stored_text(const std::string& name, const Config& node,
                                       const SecretTexts& secrets) {
  const bool is_secret = !name.empty() && can_be_secret(name, node);
  const auto expression = environment_expression(node);
  if (!expression || !gives(*expression, node, is_secret || is_secret_value(node))) {
    const bool tells = is_secret || secrets.occur_in(node) || has_url_secret(node.text());
    return tells ? std::optional<std::string>("???") : std::nullopt;
  }
  if (is_secret || has_url_secret(*expression)) return bare_reference(*expression).value_or("???");
  return secrets.occur_in(*expression) ? "???" : *expression;
}

/// The origin of a masked value, without defaults and composed texts.
Origin shown_origin(const Config& node) {
  Origin origin = node.origin();
  const auto expression = environment_expression(node);
  if (!expression) return origin;
  const auto reference = bare_reference(*expression);
  origin.via = reference ? *reference + origin.via.substr(expression->size()) : "";
  return origin;
}

/// True if a key in "+a.b[0].hf_token" or "--api-key" is secret.
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

/// The value of an override, with masked secrets if it is a map or a list.
std::string shown_value(const std::string& text) {
  if (!text.starts_with('{') && !text.starts_with('[')) return text;
  try {
    const Config value = parse_yaml_value(text, {});
    Config shown = shown_config(value);
    return same_value(value, shown) ? text : write_yaml_inline(shown);
  } catch (const Error&) {
    return text.find(':') == std::string::npos ? text : kMask;  // refused later
  }
}

/// True for "--api-key", whose value is the next word.
bool is_secret_option(const std::string& word) {
  return word.starts_with("--") && word.find('=') == std::string::npos &&
         is_secret_name(word.substr(2));
}

/// The secrets of a command line as a configuration, to find them in its other words.
Config typed_secrets(const std::vector<std::string>& words) {
  Config typed = Config::list();
  const auto add = [&typed](const std::string& text) {
    Config secret = Config::map();
    if (!bare_reference(text)) secret["password"] = Config::scalar(text, true);
    typed.items().push_back(std::move(secret));
  };
  for (size_t i = 0; i < words.size(); ++i) {
    if (is_secret_option(words[i]) && i + 1 < words.size()) add(words[i + 1]);
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) continue;
    const std::string value = words[i].substr(equals + 1);
    if (has_secret_step(std::string_view(words[i]).substr(0, equals))) {
      add(value);
    } else if (value.starts_with('{') || value.starts_with('[')) {
      try {
        typed.items().push_back(parse_yaml_value(value, {}));
      } catch (const Error&) {
        continue;  // masked as a whole
      }
    }
  }
  return typed;
}

/// Masks the secrets of a word's key and value, and those of other words.
std::string masked_word(const std::string& word, const SecretTexts& secrets) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return secrets.occur_in(word) ? kMask : word;
  const std::string head = word.substr(0, equals + 1), value = word.substr(equals + 1);
  if (secrets.occur_in(head)) return kMask;
  if (!has_secret_step(word.substr(0, equals))) {
    const std::string shown = without_secret_defaults(shown_value(value));
    return head + (secrets.occur_in(shown) ? kMask : shown);
  }
  if (value.empty() || value == "???") return word;
  return head + bare_reference(value).value_or(kMask);
}

}  // namespace

bool is_secret_name(std::string_view name) {
  constexpr std::string_view kWords =
      " password passwords passwd passphrase pwd secret secrets credential credentials bearer "
      "apikey authtoken accesstoken jwt auth pat sas ";
  const std::vector<std::string> words = words_of(name);
  if (words.size() == 1 && words[0] == "token") return true;
  if (ends_like_secret(words)) return true;
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return holds(kWords, word) || (word == "pass" && !is_technical_pass(words));
  });
}

bool is_secret_value(const Config& node) {
  const std::vector<std::string> variables = environment_variables(node);
  return std::any_of(variables.begin(), variables.end(),
                     [](const std::string& name) { return is_secret_name(name); });
}

std::string without_secret_defaults(std::string text) {
  for (size_t at = text.find(kReference); at != std::string::npos;
       at = text.find(kReference, at + 1)) {
    const size_t begin = at + sizeof(kReference) - 1;
    const size_t comma = text.find_first_of(",}", begin);
    if (comma == std::string::npos || text[comma] == '}') continue;
    if (!is_secret_name(std::string_view(text).substr(begin, comma - begin))) continue;
    const size_t end = closing_brace(text, at);
    text.erase(comma, end == std::string::npos ? end : end - comma);
  }
  return text;
}

void remember_secrets(const Config& block, const std::string& name) {
  Config copy = block;
  RememberedSecrets& remembered = remembered_secrets();
  const std::lock_guard lock(remembered.mutex);
  for_each_secret(copy, is_secret_name(name) ? name : "",
                  [&remembered](const std::string& text) { remembered.texts.insert(text); });
}

Config stored_config(Config resolved) {
  const SecretTexts secrets(resolved, secret_variables());
  for_each_scalar(resolved, "", [&secrets](const std::string& name, Config& node) {
    if (const auto text = stored_text(name, node, secrets)) {
      node = replaced(node, *text);
    } else {
      escape_interpolations(node);
    }
  });
  return resolved;
}

Config shown_config(Config resolved) {
  const SecretTexts secrets(resolved);
  for_each_scalar(resolved, "", [&secrets](const std::string& name, Config& node) {
    const bool by_name = !name.empty() && can_be_secret(name, node);
    const auto expression = environment_expression(node);
    if (!by_name && !is_secret_value(node) && !secrets.occur_in(node) &&
        !(expression && secrets.occur_in(*expression))) {
      if (!has_url_secret(node.text()) && !has_url_secret(expression.value_or(""))) return;
      const Origin origin = shown_origin(node);
      node = replaced(node, without_url_secrets(node.text()));
      node.set_origin(origin);
      return;
    }
    const Origin origin = shown_origin(node);
    node = replaced(node, kMask);
    node.set_origin(origin);
  });
  return resolved;
}

std::string shown_word(const std::string& word) { return shown_words({word}).front(); }

std::vector<std::string> shown_words(const std::vector<std::string>& words) {
  Config typed = typed_secrets(words);
  const SecretTexts secrets(typed, secret_variables());
  std::vector<std::string> shown;
  bool is_secret = false;
  for (const std::string& word : words) {
    shown.push_back(is_secret ? kMask : without_url_secrets(masked_word(word, secrets)));
    is_secret = is_secret_option(word);
  }
  return shown;
}

}  // namespace s2s
