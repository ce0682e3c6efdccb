// Parses Lhotse 2's addresses of data in Shar archives.

#include <charconv>

#include "files/files_errors.h"
#include "files/open_bytes.h"
#include "files/tar_index.h"

namespace s2s::files {
namespace {

/// Removes "KEY=NUMBER" from the front.
std::optional<int64_t> take_number(std::string_view& text, std::string_view key) {
  if (!text.starts_with(key)) return std::nullopt;
  text.remove_prefix(key.size());
  int64_t value = 0;
  const auto [at, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(at - text.data()));
  return value;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    int value = 0;
    const char* const first = text.data() + at + 1;
    if (at + 2 >= text.size() || std::from_chars(first, first + 2, value, 16).ptr != first + 2) {
      return std::nullopt;
    }
    decoded += static_cast<char>(value);
    at += 2;
  }
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '.' || c == '-' || c == '~') {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

}  // namespace

std::optional<SharPointer> parse_shar_pointer(std::string_view text) {
  const size_t question = text.find('?');
  if (question == 0 || question == std::string_view::npos) return std::nullopt;
  SharPointer pointer;
  pointer.tar = std::string(text.substr(0, question));
  text.remove_prefix(question + 1);
  const auto begin = take_number(text, "o=");
  const auto end = begin ? take_number(text, "&e=") : std::nullopt;
  if (!begin || !end || *end < *begin) return std::nullopt;
  pointer.begin = *begin;
  pointer.end = *end;
  constexpr std::string_view kName = "&n=";
  if (text.starts_with(kName)) {
    text.remove_prefix(kName.size());
    const size_t length = std::min(text.find('&'), text.size());
    const auto member = percent_decoded(text.substr(0, length));
    if (!member) return std::nullopt;
    pointer.member = *member;
    text.remove_prefix(length);
    if (text == "&s=1") text = {};
  }
  if (!text.empty()) return std::nullopt;
  return pointer;
}

std::string format_shar_pointer(const SharPointer& pointer) {
  std::string text =
      pointer.tar + "?o=" + std::to_string(pointer.begin) + "&e=" + std::to_string(pointer.end);
  if (!pointer.member.empty()) text += "&n=" + percent_encoded(pointer.member);
  return text;
}

std::string read_shar_pointer(const SharPointer& pointer, const OpenOptions& options) {
  const auto file = open_bytes(pointer.tar, options, "a Shar archive; check the path");
  if (pointer.begin > file->size()) {
    throw files_errors::tar(pointer.tar, pointer.begin, "the archive ends before it");
  }
  auto member = next_tar_file(*file, pointer.begin);
  const bool is_there = member && member->header < pointer.end &&
                        (pointer.member.empty() || member->name == pointer.member);
  if (!is_there && !pointer.member.empty()) {
    const TarIndex all(file);
    const TarMember* const found = all.find(pointer.member);
    if (found != nullptr) return all.data(*found);
  }
  if (!is_there) {
    throw files_errors::tar(
        pointer.tar, pointer.begin,
        pointer.member.empty() ? "there is no member" : "there is no '" + pointer.member + "'");
  }
  if (tar_stem(member->name).size() + 7 == member->name.size() &&
      member->name.ends_with(".nodata")) {
    throw files_errors::tar(pointer.tar, pointer.begin,
                            "'" + member->name + "' says that this cut has no such data");
  }
  return file->read_text(member->begin, static_cast<size_t>(member->num_bytes));
}

}  // namespace s2s::files
