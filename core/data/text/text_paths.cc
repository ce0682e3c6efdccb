#include "text/text_paths.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "files/byte_file.h"
#include "text/text_errors.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kTextEndings = {".jsonl", ".json", ".jsonl.gz",
                                                          ".json.gz"};

bool has_text_name(const fs::path& file) {
  const std::string name = file.filename().string();
  return std::any_of(kTextEndings.begin(), kTextEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && has_text_name(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> files_like(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (::glob(pattern.c_str(), GLOB_BRACE, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      std::error_code error;
      if (fs::is_regular_file(found.gl_pathv[i], error)) files.emplace_back(found.gl_pathv[i]);
    }
  }
  ::globfree(&found);
  std::sort(files.begin(), files.end());
  return files;
}

/// Refuses binary tables that may contain texts.
void require_text(const std::string& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) < 6) return;
  const std::string begin = files::DiskFile(file, "").read_text(0, 6);
  const bool is_parquet = begin.starts_with("PAR1");
  if (!is_parquet && begin != "ARROW1") return;
  const std::string reader = is_parquet ? "read_parquet" : "read_feather";
  throw text_errors::not_json_lines(
      file, is_parquet ? "a Parquet file" : "an Arrow file",
      fmt::format("python -c \"import pandas; pandas.{}('{}').to_json('{}.jsonl', "
                  "orient='records', lines=True)\"",
                  reader, file, fs::path(file).replace_extension().string()));
}

}  // namespace

std::vector<std::string> text_paths(const std::string& path, const std::string& option) {
  if (path.starts_with("pipe:")) return {path};
  std::error_code error;
  std::vector<std::string> files = {path};
  const bool is_folder = fs::is_directory(path, error);
  const bool is_pattern =
      !is_folder && !fs::exists(path, error) && path.find_first_of("*?[{") != std::string::npos;
  if (is_folder) files = files_in(path);
  if (is_pattern) files = files_like(path);
  if (files.empty()) throw text_errors::no_match(option, path);
  for (const std::string& file : files) require_text(file);
  return files;
}

}  // namespace s2s::data
