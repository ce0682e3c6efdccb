#include "loader/state_text.h"

#include <zlib.h>

#include <cstdint>

#include "base/text.h"
#include "loader/loader_errors.h"

namespace s2s::data {
namespace {

constexpr size_t kShortBytes = 400;
constexpr size_t kMaxBytes = size_t{1} << 30;
constexpr std::string_view kMark = "z:";

}  // namespace

std::string packed_state(const std::string& json) {
  if (json.size() < kShortBytes) return json;
  uLongf size = compressBound(json.size());
  std::string bytes(size + 8, '\0');
  compress2(reinterpret_cast<Bytef*>(bytes.data()) + 8, &size,
            reinterpret_cast<const Bytef*>(json.data()), json.size(), Z_BEST_SPEED);
  bytes.resize(size + 8);
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(json.size() >> (8 * i) & 255);
  return std::string(kMark) + to_base64(bytes);
}

std::string unpacked_state(const std::string& text, const std::string& path) {
  if (!text.starts_with(kMark)) return text;
  const auto decoded = from_base64(without_padding(std::string_view(text).substr(kMark.size())));
  if (!decoded) throw loader_errors::bad_state(path, "it is damaged");
  const std::string& bytes = *decoded;
  uLongf size = 0;
  for (size_t i = 0; i < 8 && bytes.size() > 8; ++i) {
    size |= static_cast<uLongf>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  // Deflate expands one byte to at most 1,032 bytes.
  constexpr uLongf kMostRatio = 1032;
  if (bytes.size() <= 8 || size > kMaxBytes || size / kMostRatio > bytes.size()) {
    throw loader_errors::bad_state(path, "it is cut off");
  }
  std::string json(size, '\0');
  const int code = uncompress(reinterpret_cast<Bytef*>(json.data()), &size,
                              reinterpret_cast<const Bytef*>(bytes.data()) + 8, bytes.size() - 8);
  if (code != Z_OK || size != json.size()) {
    throw loader_errors::bad_state(path, "it is damaged");
  }
  return json;
}

}  // namespace s2s::data
