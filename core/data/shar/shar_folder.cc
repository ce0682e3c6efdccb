// Lists the shards of a Shar set.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "shar/shar_errors.h"
#include "shar/shar_set.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;

bool has_shard_extension(const std::string& name, bool is_cuts) {
  for (const char* extension : {".jsonl", ".jsonl.gz"}) {
    if (name.ends_with(extension)) return true;
  }
  return !is_cuts && (name.ends_with(".tar") || name.ends_with(".tar.gz"));
}

/// Returns "000012" of "cuts.000012.jsonl.gz", and "" without a number.
std::string shard_number(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const size_t first = name.find('.');
  const size_t second = name.find('.', first + 1);
  if (first == std::string::npos || second == std::string::npos) return "";
  const std::string number = name.substr(first + 1, second - first - 1);
  const bool is_number =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? number : "";
}

std::map<std::string, std::vector<std::string>> files_by_field(const std::string& folder) {
  if (!fs::is_directory(folder)) throw shar_errors::missing_folder(folder);
  std::map<std::string, std::vector<std::string>> by_field;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string field = name.substr(0, name.find('.'));
    if (!field.empty() && has_shard_extension(name, field == "cuts")) {
      by_field[field].push_back((fs::path(folder) / name).string());
    }
  }
  for (auto& [field, paths] : by_field) std::sort(paths.begin(), paths.end());
  return by_field;
}

std::string counts_text(const SharShards& shards) {
  std::string text = fmt::format("cuts {}", shards.cuts.size());
  for (const auto& [field, paths] : shards.fields) {
    text += fmt::format(", {} {}", field, paths.size());
  }
  return text;
}

/// Returns the first number that is in only one of two lists.
std::string first_difference(const std::vector<std::string>& cuts, const std::string& field,
                             const std::vector<std::string>& paths) {
  for (size_t i = 0; i < std::max(cuts.size(), paths.size()); ++i) {
    if (i >= paths.size()) return fmt::format("there is no {} of {}", field, cuts[i]);
    if (i >= cuts.size()) return fmt::format("there are no cuts of {}", paths[i]);
    const std::string expected = shard_number(cuts[i]);
    const std::string found = shard_number(paths[i]);
    if (expected < found) return fmt::format("there is no {} of {}", field, cuts[i]);
    if (found < expected) return fmt::format("there are no cuts of {}", paths[i]);
  }
  return "";
}

/// Gives every field all numbers that any field has. Names of missing shards follow those of the
/// others.
void name_missing_shards(std::map<std::string, std::vector<std::string>>& by_field) {
  std::set<std::string> numbers;
  for (const auto& [field, paths] : by_field) {
    for (const std::string& path : paths) numbers.insert(shard_number(path));
  }
  if (numbers.contains("")) return;
  for (auto& [field, paths] : by_field) {
    const std::string like = paths.front();
    const size_t at = like.rfind('/') + 1 + field.size() + 1;
    const size_t digits = shard_number(like).size();
    std::map<std::string, std::string> by_number;
    for (const std::string& number : numbers) {
      by_number[number] = std::string(like).replace(at, digits, number);
    }
    for (const std::string& path : paths) by_number[shard_number(path)] = path;
    paths.clear();
    for (const auto& [number, path] : by_number) paths.push_back(path);
  }
}

void check_counts(const SharShards& shards, const std::string& folder) {
  for (const auto& [field, paths] : shards.fields) {
    const std::string problem = first_difference(shards.cuts, field, paths);
    if (!problem.empty()) throw shar_errors::shards(folder, counts_text(shards), problem);
  }
}

}  // namespace

SharShards list_shar(const std::string& folder,
                     const std::optional<std::vector<std::string>>& fields, bool name_missing) {
  auto by_field = files_by_field(folder);
  if (name_missing) name_missing_shards(by_field);
  std::vector<std::string> names;
  for (const auto& [field, paths] : by_field) names.push_back(field);
  const auto paths_of = [&](const std::string& field) {
    const auto found = by_field.find(field);
    if (found == by_field.end()) throw shar_errors::no_field(folder, field, names);
    return found->second;
  };
  SharShards shards;
  shards.cuts = paths_of("cuts");
  for (const std::string& field : fields.value_or(names)) {
    if (field != "cuts") shards.fields.emplace_back(field, paths_of(field));
  }
  check_counts(shards, folder);
  return shards;
}

}  // namespace s2s::data
