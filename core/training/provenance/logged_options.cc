#include "provenance/logged_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "config/interpolation.h"
#include "config/scalar.h"
#include "config/secrets.h"
#include "config/url_secrets.h"
#include "provenance/recorded_variables.h"

namespace s2s::run {
namespace {

using Variables = std::map<std::string, std::string>;
constexpr const char* kLoggersPath = "exp_manager.loggers";

/// All variables of the value are in environment.json with their values.
bool is_of_recorded(const Config& value, const Variables& recorded) {
  const std::vector<std::string> names = environment_variables(value);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto found = recorded.find(name);
    return found != recorded.end() && found->second != "***";
  });
}

bool is_logged_number(const Config& value) {
  return !value.quoted() && !is_string_text(value.text());
}

/// `value` and `stored`: the same node of the configuration and of the stored one.
Config logged(const Config& value, const Config& stored, const Variables& recorded) {
  Config out = value;
  if (value.is_scalar()) {
    if (stored.is_missing() && !value.is_missing()) out = Config::scalar("***", true);
    if (!stored.is_missing() && environment_expression(value)) {
      const bool may_stay = is_logged_number(value)
                                ? !is_secret_value(value)
                                : is_of_recorded(value, recorded) && !has_url_secret(value.text());
      if (!may_stay) out = Config::scalar(stored.text(), true);
    }
    out.set_origin(value.origin());
    return out;
  }
  for (size_t i = 0; i < out.items().size(); ++i) {
    out.items()[i] = logged(value.items()[i], stored.items()[i], recorded);
  }
  for (size_t i = 0; i < out.entries().size(); ++i) {
    out.entries()[i].second =
        logged(value.entries()[i].second, stored.entries()[i].second, recorded);
  }
  return out;
}

/// True for an option of a logger that it uses instead of writing it down.
bool is_used(const std::string& name) {
  constexpr std::array<std::string_view, 13> kPlaces = {
      "dir", "directory", "folder", "path",    "file",   "location", "uri",
      "url", "host",      "port",   "address", "server", "endpoint"};
  if (name == "name" || is_secret_name(name)) return true;
  std::string word;
  for (const char c : name + "_") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (std::find(kPlaces.begin(), kPlaces.end(), word) != kPlaces.end()) return true;
    word.clear();
  }
  return false;
}

void keep_used(Config& logger, const Config& resolved) {
  for (auto& [name, value] : logger.entries()) {
    if (is_used(name)) value = *resolved.find(name);
  }
}

}  // namespace

Config logged_value(const Config& config, const std::string& path) {
  const Config* const value = config.find_path(path);
  if (value == nullptr) return {};
  const Config stored = stored_config(config);
  return logged(*value, *stored.find_path(path), recorded_environment());
}

Config logged_loggers(const Config& config) {
  Config loggers = logged_value(config, kLoggersPath);
  const Config* const resolved = config.find_path(kLoggersPath);
  if (loggers.is_map()) keep_used(loggers, *resolved);
  for (size_t i = 0; i < loggers.items().size(); ++i) {
    keep_used(loggers.items()[i], resolved->items()[i]);
  }
  return loggers;
}

}  // namespace s2s::run
