#include "s2s/data/training_texts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cuts/cut_files.h"
#include "files/line_reader.h"
#include "s2s/data/duplex_data.h"

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

}  // namespace

std::vector<std::string> read_training_texts(const Config& input, const std::string& place,
                                             const std::string& base_dir) {
  std::vector<const Config*> items;
  if (input.is_scalar()) items.push_back(&input);
  for (const Config& item : input.items()) items.push_back(&item);
  std::vector<std::string> texts;
  for (const Config* item : items) {
    const std::string path = (fs::path(base_dir) / item->text()).lexically_normal().string();
    if (path.ends_with(".jsonl") || path.ends_with(".jsonl.gz")) {
      add_cut_texts(path, texts);
    } else {
      add_lines(path, place, texts);
    }
  }
  if (texts.empty()) {
    throw bad_input(place, items.empty() ? "" : items.front()->text(), "holds no text");
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
