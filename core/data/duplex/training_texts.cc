#include "s2s/data/training_texts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/fnv.h"
#include "base/foreign_json.h"
#include "base/mapped_file.h"
#include "cuts/cut_files.h"
#include "files/line_reader.h"
#include "files/source_state.h"
#include "s2s/data/duplex_data.h"
#include "s2s/foreign_text.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

Error bad_input(const std::string& place, const std::string& path, const std::string& reason) {
  return data_error("tokenizer/training-input",
                    fmt::format("{}.train.input: '{}' {}; expected a file with one text a line, or "
                                "Lhotse cuts; check the path",
                                place, path, reason));
}

Error cannot_write(const std::string& path, const std::string& reason) {
  return data_error(
      "tokenizer/cannot-write",
      fmt::format("the tokenizer '{}' cannot be written: {}; expected a folder with room; "
                  "choose another path",
                  path, reason));
}

std::vector<std::string> files_of(const Config& input, const std::string& base_dir) {
  std::vector<const Config*> items;
  if (input.is_scalar()) items.push_back(&input);
  for (const Config& item : input.items()) items.push_back(&item);
  std::vector<std::string> files;
  for (const Config* item : items) {
    files.push_back((fs::path(base_dir) / item->text()).lexically_normal().string());
  }
  return files;
}

void add_cut_texts(const std::string& path, std::vector<std::string>& texts) {
  for (const Cut& cut : read_cuts({path}).cuts) {
    for (const Supervision& turn : cut.supervisions) {
      if (turn.text) texts.push_back(clean_text(*turn.text));
    }
  }
}

void add_lines(const std::string& path, const std::string& place, std::vector<std::string>& texts) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) throw bad_input(place, path, "cannot be opened");
  data::LineReader file(path);
  for (std::string line; file.next(line);) {
    line = clean_text(line);
    if (!line.empty()) texts.push_back(line);
  }
}

// The record of a tokenizer's texts.

std::string record_of(const std::string& path) { return path + ".texts.json"; }

/// Returns the state of a file. Its content is read again only if its stamp has changed.
nlohmann::json state_of(const std::string& file, bool with_content) {
  std::error_code failed;
  const auto num_bytes = static_cast<int64_t>(fs::file_size(file, failed));
  if (failed) return nullptr;
  nlohmann::json state = {{"file", fs::absolute(file).string()},
                          {"bytes", num_bytes},
                          {"stamp", fmt::format("{:016x}", files::stamp_of_file(file))}};
  if (with_content) {
    const MappedFile mapped(file);
    const auto bytes = mapped.bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    state["fnv1a"] = fmt::format("{:016x}", fnv1a(text));
  }
  return state;
}

bool is_unchanged(const nlohmann::json& before, const nlohmann::json& now) {
  const auto same = [&](const char* key) {
    return before.contains(key) && before[key] == now[key];
  };
  return same("file") && same("bytes") && same("stamp");
}

bool has_content_of(const nlohmann::json& before, const std::string& file) {
  const nlohmann::json now = state_of(file, /*with_content=*/false);
  if (is_unchanged(before, now)) return true;
  if (before.value("bytes", int64_t{-1}) != now["bytes"]) return false;
  return before.value("fnv1a", "") == state_of(file, /*with_content=*/true)["fnv1a"];
}

}  // namespace

void record_training_texts(const std::string& path, const Config& input,
                           const std::string& base_dir) {
  nlohmann::json files = nlohmann::json::array();
  for (const std::string& file : files_of(input, base_dir)) {
    files.push_back(state_of(file, /*with_content=*/true));
  }
  try {
    write_tokenizer_file(record_of(path), nlohmann::json{{"texts", files}}.dump(1) + "\n");
  } catch (const Error&) {  // the record only serves a warning
  }
}

std::string other_training_texts(const std::string& path, const Config& input,
                                 const std::string& place, const std::string& base_dir) {
  std::error_code ignored;
  const std::vector<std::string> files = files_of(input, base_dir);
  const auto is_there = [&](const std::string& file) { return fs::is_regular_file(file, ignored); };
  if (files.empty() || !std::all_of(files.begin(), files.end(), is_there)) return "";
  if (!is_there(record_of(path))) return "";
  nlohmann::json before;
  try {
    before = parse_foreign_json(read_small_file(record_of(path))).at("texts");
    const bool is_same = before.size() == files.size() &&
                         std::equal(before.begin(), before.end(), files.begin(), has_content_of);
    if (is_same) return "";
  } catch (const std::exception&) {
    return "";  // not our file, or it cannot be read
  }
  const std::string made_of = before.empty() ? "nothing" : before[0].value("file", "");
  return fmt::format(
      "[tokenizer/other-texts] {}.train.input: '{}' is not what the tokenizer '{}' was made of "
      "({}); the tokenizer is used as it is; to make it of these texts, remove the file or set "
      "{}.train.overwrite=true",
      place, printable_name(files.front()), printable_name(path), printable_name(made_of), place);
}

std::vector<std::string> read_training_texts(const Config& input, const std::string& place,
                                             const std::string& base_dir) {
  const std::vector<std::string> files = files_of(input, base_dir);
  std::vector<std::string> texts;
  for (const std::string& path : files) {
    if (path.ends_with(".jsonl") || path.ends_with(".jsonl.gz")) {
      add_cut_texts(path, texts);
    } else {
      add_lines(path, place, texts);
    }
  }
  if (texts.empty()) {
    throw bad_input(place, files.empty() ? "" : files.front(), "holds no text");
  }
  return texts;
}

void write_tokenizer_file(const std::string& path, std::string_view bytes) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  const std::string partial = path + ".partial." + std::to_string(getpid());
  std::ofstream file(partial, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    const std::string reason = std::strerror(errno);
    fs::remove(partial, error);
    throw cannot_write(path, reason);
  }
  fs::rename(partial, path, error);
  if (error) throw cannot_write(path, error.message());
}

}  // namespace s2s
