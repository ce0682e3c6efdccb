#include "tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s/nn/weights.h"

namespace PLUGIN_NAME {
namespace {

constexpr const char* kSpecialNames[] = {"<pad>", "<s>", "</s>"};
constexpr int64_t kNumSpecial = 3;
constexpr int64_t kNumBytes = 256;

s2s::Error bad_file(const std::string& file, const std::string& reason) {
  return {s2s::ExitCode::kConfig, "PLUGIN_NAME/file",
          "cannot read '" + file + "': " + reason +
              "; expected a text file with one piece per line; correct the tokenizer's path"};
}

s2s::Error bad_piece(const std::string& file, int64_t line, const std::string& problem) {
  return {s2s::ExitCode::kConfig, "PLUGIN_NAME/piece",
          file + ":" + std::to_string(line) + " " + problem +
              "; expected one piece per line, without duplicates; correct the line"};
}

std::string content_of(const std::string& file) {
  try {
    return s2s::read_small_file(file);
  } catch (const std::system_error& error) {
    throw bad_file(file, error.code().message());
  }
}

/// Size in bytes of the UTF-8 character at `at`; 0: invalid UTF-8.
size_t character_size(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  const size_t size = lead < 0xC2 || lead > 0xF4 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const bool is_too_long = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool is_no_code = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return is_too_long || is_no_code ? 0 : size;
}

/// `path`; if it is a folder (a checkpoint's copies), the only text file in it.
std::string pieces_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".txt") found.push_back(entry.path().string());
  }
  return found.size() == 1 ? found.front() : path + "/pieces.txt";
}

std::string well_formed(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_size(text, at);
    out += size == 0 ? "\xEF\xBF\xBD" : text.substr(at, size);
    at += std::max<size_t>(size, 1);
  }
  return out;
}

}  // namespace

Tokenizer::Tokenizer(const std::string& file) : file_(file) {
  special_.pad = 0;
  special_.bos = 1;
  special_.eos = 2;
  pieces_.resize(kNumSpecial);
  for (int64_t byte = 0; byte < kNumBytes; ++byte) {
    pieces_.emplace_back(1, static_cast<char>(byte));
    ids_[pieces_.back()] = kNumSpecial + byte;
  }
  if (file.empty()) return;
  std::istringstream lines(content_of(file));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) throw bad_piece(file, number, "is empty");
    if (line.back() == '\r') throw bad_piece(file, number, "ends with a carriage return");
    if (line.size() == 1) continue;  // a byte
    if (!ids_.emplace(line, vocab_size()).second) {
      throw bad_piece(file, number, "'" + s2s::printable_name(line) + "' is a duplicate");
    }
    longest_ = std::max(longest_, line.size());
    pieces_.push_back(line);
  }
}

std::vector<int64_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int64_t> ids;
  for (size_t at = 0; at < text.size();) {
    size_t size = std::min(longest_, text.size() - at);
    auto found = ids_.find(std::string(text.substr(at, size)));
    while (found == ids_.end()) found = ids_.find(std::string(text.substr(at, --size)));
    ids.push_back(found->second);  // single bytes always match
    at += size;
  }
  return ids;
}

std::string Tokenizer::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  for (const int64_t id : ids) {
    const bool is_known = id >= 0 && id < vocab_size();
    text += is_known ? pieces_[static_cast<size_t>(id)] : "";
  }
  return well_formed(text);
}

std::string Tokenizer::piece(int64_t id) const {
  if (id < 0 || id >= vocab_size()) return "<" + std::to_string(id) + ">";
  if (id < kNumSpecial) return kSpecialNames[id];
  return s2s::printable_name(pieces_[static_cast<size_t>(id)]);
}

std::vector<std::string> Tokenizer::files() const {
  return file_.empty() ? std::vector<std::string>() : std::vector<std::string>{file_};
}

std::unique_ptr<s2s::Tokenizer> create(const s2s::Config& options,
                                       const s2s::BuildContext& context) {
  const auto read = s2s::read_options<Options>(options, context.path);
  if (read.path.empty()) return std::make_unique<Tokenizer>("");
  return std::make_unique<Tokenizer>(pieces_file(s2s::resolve_path(read.path, context.base_dir)));
}

}  // namespace PLUGIN_NAME
