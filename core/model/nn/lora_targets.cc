#include "nn/lora_targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "base/number_text.h"
#include "base/path_pattern.h"
#include "config/config_errors.h"
#include "s2s/error.h"
#include "s2s/parallel/plan.h"

namespace s2s {
namespace {

Error pattern_error(const std::string& key, const std::string& pattern, const std::string& reason) {
  return {ExitCode::kConfig, "lora/pattern",
          fmt::format("model.lora.{}: '{}' {}; expected a regular expression of module names, as "
                      "'.*\\.(q_proj|v_proj)'",
                      key, pattern, reason)};
}

Regex compiled(const std::string& key, const std::string& pattern, const std::string& whole) {
  try {
    return Regex(whole);
  } catch (const std::invalid_argument& error) {
    throw pattern_error(key, pattern, std::string("is no regular expression: ") + error.what());
  }
}

std::optional<Regex> optional_pattern(const char* key, const std::optional<std::string>& pattern) {
  if (!pattern) return std::nullopt;
  return compiled(key, *pattern, *pattern);
}

/// The entries of rank_pattern or alpha_pattern, each for names that end in its key.
template <class Number>
std::vector<std::pair<Regex, Number>> sizes_of(const char* key, const Config& entries) {
  std::vector<std::pair<Regex, Number>> sizes;
  if (entries.is_null()) return sizes;
  const std::string path = std::string("model.lora.") + key;
  if (!entries.is_map()) throw type_error(path, entries, "a map of module names to numbers");
  for (const auto& [name, value] : entries.entries()) {
    const auto number = value.is_scalar() ? read_number<Number>(value.text()) : std::nullopt;
    if (!number || *number <= 0) throw type_error(path + "." + name, value, "a number above 0");
    sizes.emplace_back(compiled(key, name, "(.*\\.)?(" + name + ")"), *number);
  }
  return sizes;
}

template <class Number>
Number size_for(const std::vector<std::pair<Regex, Number>>& sizes, const std::string& name,
                Number other) {
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [&](const auto& entry) { return entry.first.match(name); });
  return found == sizes.end() ? other : found->second;
}

bool is_end_of(const std::string& target, const std::string& path) {
  return path == target || path.ends_with("." + target);
}

}  // namespace

bool is_lora_target(const std::string& target, const std::string& path) {
  const size_t count = split_path(target).size();
  const std::vector<std::string> segments = split_path(path);
  if (count == 0 || count > segments.size()) return false;
  const auto begin = segments.end() - static_cast<std::ptrdiff_t>(count);
  return path_matches(target, fmt::format("{}", fmt::join(begin, segments.end(), ".")));
}

LoraTargets::LoraTargets(const LoraOptions& options, NameMap names)
    : options_(options),
      names_(std::move(names)),
      target_pattern_(optional_pattern("target_pattern", options.target_pattern)),
      exclude_pattern_(optional_pattern("exclude_pattern", options.exclude_pattern)),
      ranks_(sizes_of<int64_t>("rank_pattern", options.rank_pattern)),
      alphas_(sizes_of<double>("alpha_pattern", options.alpha_pattern)) {
  if (!target_pattern_) targets_ = options.targets();
  unmatched_ = {targets_.begin(), targets_.end()};
  if (options.layers_to_transform.empty()) return;
  if (target_pattern_) {
    throw pattern_error("target_pattern", *options.target_pattern,
                        "and layers_to_transform exclude each other, as in PEFT");
  }
  for (const std::string& list : options.layers_pattern) {
    layer_lists_.push_back(compiled("layers_pattern", list, ".*\\." + list + "\\.(\\d+)\\..*"));
  }
  if (layer_lists_.empty()) layer_lists_.emplace_back(".*?\\.[^.]*\\.(\\d+)\\..*");
}

std::string LoraTargets::their_name(const std::string& path) const {
  const std::string theirs = names_.to_theirs(path + ".weight").value_or(path + ".weight");
  return theirs.substr(0, theirs.rfind('.'));
}

bool LoraTargets::is_excluded(const std::string& path, const std::string& theirs) const {
  if (exclude_pattern_ && exclude_pattern_->match(theirs)) return true;
  return std::any_of(options_.exclude_modules.begin(), options_.exclude_modules.end(),
                     [&](const std::string& name) {
                       return is_end_of(name, theirs) || is_lora_target(name, path);
                     });
}

bool LoraTargets::is_in_layers(const std::string& theirs) const {
  if (layer_lists_.empty()) return true;
  for (const Regex& list : layer_lists_) {
    const auto groups = list.match(theirs);
    if (!groups) continue;
    const auto layer = read_number<int64_t>(groups->at(1));
    const auto& layers = options_.layers_to_transform;
    return layer && std::find(layers.begin(), layers.end(), *layer) != layers.end();
  }
  return false;
}

bool LoraTargets::takes(const std::string& path) {
  const std::string theirs = their_name(path);
  if (is_excluded(path, theirs)) return false;
  if (target_pattern_) return target_pattern_->match(theirs).has_value();
  bool matches = false;
  for (const std::string& target : targets_) {
    const bool is_it =
        target == "all-linear" || is_end_of(target, theirs) || is_lora_target(target, path);
    if (!is_it) continue;
    matches = true;
    unmatched_.erase(target);
  }
  return matches && is_in_layers(theirs);
}

int64_t LoraTargets::rank(const std::string& path) const {
  return size_for(ranks_, their_name(path), options_.r);
}

double LoraTargets::alpha(const std::string& path) const {
  return size_for(alphas_, their_name(path), options_.lora_alpha);
}

}  // namespace s2s
