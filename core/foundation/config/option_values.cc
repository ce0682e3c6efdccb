#include "config/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "config/config_errors.h"
#include "config/distrusted_files.h"
#include "config/scalar.h"

namespace s2s {

namespace {

std::string bounds_text(const Bounds& bounds) {
  if (std::isinf(bounds.max)) return fmt::format("at least {}", bounds.min);
  if (std::isinf(bounds.min)) return fmt::format("at most {}", bounds.max);
  return fmt::format("a value from {} to {}", bounds.min, bounds.max);
}

/// NaN is outside of every bound. Without bounds it is allowed.
void check_number(const OptionSpot& spot, double value) {
  const Bounds& bounds = spot.bounds;
  const bool bounded = !std::isinf(bounds.min) || !std::isinf(bounds.max);
  if (bounded && !(value >= bounds.min && value <= bounds.max)) {
    throw bounds_error(spot.path, spot.node, bounds_text(bounds));
  }
}

void check_choice(const OptionSpot& spot, const std::string& value) {
  const auto& choices = spot.bounds.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
    throw choice_error(spot.path, spot.node, choices);
  }
}

void convert(const OptionSpot& spot, bool& value) { value = spot.node.as_bool(spot.path); }

void convert(const OptionSpot& spot, int64_t& value) {
  const int64_t number = spot.node.as_int(spot.path);
  check_number(spot, static_cast<double>(number));
  check_choice(spot, std::to_string(number));
  value = number;
}

void convert(const OptionSpot& spot, double& value) {
  const double number = spot.node.as_double(spot.path);
  check_number(spot, number);
  value = number;
}

void convert(const OptionSpot& spot, std::string& value) {
  std::string text = spot.node.as_string(spot.path);
  check_choice(spot, text);
  value = std::move(text);
}

template <class T>
void convert(const OptionSpot& spot, std::optional<T>& value) {
  if (spot.node.is_null()) {
    value.reset();
    return;
  }
  T inner{};
  convert(spot, inner);
  value = std::move(inner);
}

template <class T>
void read(const OptionSpot& spot, T& value, Findings& findings) {
  try {
    convert(spot, value);
  } catch (const Error& error) {
    findings.add(error);
  }
}

template <class T>
void read(const OptionSpot& spot, std::vector<T>& value, Findings& findings) {
  if (spot.node.is_missing()) return findings.add(missing_value_error(spot.path, spot.node));
  if (!spot.node.is_list() && !spot.node.is_null()) {
    return findings.add(type_error(spot.path, spot.node, std::string("a ") + type_name(value)));
  }
  std::vector<T> items(spot.node.items().size());
  const size_t before = findings.errors().size();
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string path = spot.path + "." + std::to_string(i);
    read({spot.node.items()[i], path, spot.bounds}, items[i], findings);
  }
  if (findings.errors().size() == before) value = std::move(items);
}

void read(const OptionSpot& spot, Config& value, Findings& findings) {
  if (spot.node.is_missing()) return findings.add(missing_value_error(spot.path, spot.node));
  value = spot.node;
}

using Check = void (*)(const OptionSpot& spot, Findings& findings);

/// Checks by the name of the type. Instantiates read_value for these types.
template <class... T>
std::map<std::string, Check> checks_of() {
  return {{type_name(T{}), [](const OptionSpot& spot, Findings& findings) {
             T ignored{};
             read_value(spot, ignored, findings);
           }}...};
}

}  // namespace

template <class T>
void read_value(const OptionSpot& spot, T& value, Findings& findings) {
  read(spot, value, findings);
}

template void read_value(const OptionSpot&, bool&, Findings&);
template void read_value(const OptionSpot&, int64_t&, Findings&);
template void read_value(const OptionSpot&, double&, Findings&);
template void read_value(const OptionSpot&, std::string&, Findings&);
template void read_value(const OptionSpot&, std::optional<int64_t>&, Findings&);
template void read_value(const OptionSpot&, std::optional<double>&, Findings&);
template void read_value(const OptionSpot&, std::optional<std::string>&, Findings&);
template void read_value(const OptionSpot&, std::vector<int64_t>&, Findings&);
template void read_value(const OptionSpot&, std::vector<double>&, Findings&);
template void read_value(const OptionSpot&, std::vector<std::string>&, Findings&);
template void read_value(const OptionSpot&, Config&, Findings&);

void check_program(const OptionSpot& spot, Findings& findings) {
  if (spot.bounds.is_program && is_distrusted(spot.node.origin())) {
    findings.add(program_error(spot.path, spot.node));
  }
}

void check_value(const std::string& type_name, const OptionSpot& spot, Findings& findings) {
  static const std::map<std::string, Check> kChecks =
      checks_of<bool, int64_t, double, std::string, std::optional<int64_t>, std::optional<double>,
                std::optional<std::string>, std::vector<int64_t>, std::vector<double>,
                std::vector<std::string>, Config>();
  const auto found = kChecks.find(type_name);
  S2S_ASSERT(found != kChecks.end(), "option tables are made by list_options");
  found->second(spot, findings);
}

Config to_config(bool value) { return Config::scalar(value ? "true" : "false"); }
Config to_config(int64_t value) { return Config::scalar(std::to_string(value)); }

Config to_config(double value) {
  if (std::isnan(value)) return Config::scalar(".nan");
  if (std::isinf(value)) return Config::scalar(value > 0 ? ".inf" : "-.inf");
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return Config::scalar(std::move(text));
}

Config to_config(const std::string& value) { return Config::scalar(value, !is_string_text(value)); }
Config to_config(const Config& value) { return value; }

}  // namespace s2s
