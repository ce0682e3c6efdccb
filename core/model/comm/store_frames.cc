#include "comm/store_frames.h"

#include <cstdint>

namespace s2s {
namespace {

constexpr size_t kLengthBytes = 4;

void append_length(std::string& out, size_t length) {
  for (size_t i = 0; i < kLengthBytes; ++i) out += static_cast<char>((length >> (8 * i)) & 0xFF);
}

size_t length_at(std::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

std::string to_bytes(const StoreFrame& frame) {
  std::string body(1, static_cast<char>(frame.verb));
  for (const std::string& field : frame.fields) {
    append_length(body, field.size());
    body += field;
  }
  std::string out;
  append_length(out, body.size());
  return out + body;
}

std::string hello_of(std::string_view token) {
  std::string out = "s2s-store-1:";
  append_length(out, token.size());
  return out.append(token);
}

std::optional<size_t> frame_length(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return 0;
  const size_t body = length_at(bytes);
  if (body == 0 || body > kMaxFrameBytes) return std::nullopt;
  return bytes.size() < kLengthBytes + body ? 0 : kLengthBytes + body;
}

std::optional<StoreFrame> to_frame(std::string_view bytes) {
  if (bytes.size() <= kLengthBytes) return std::nullopt;
  StoreFrame out;
  out.verb = static_cast<StoreVerb>(bytes[kLengthBytes]);
  bytes.remove_prefix(kLengthBytes + 1);
  while (!bytes.empty()) {
    if (bytes.size() < kLengthBytes) return std::nullopt;
    const size_t length = length_at(bytes);
    bytes.remove_prefix(kLengthBytes);
    if (length > bytes.size()) return std::nullopt;
    out.fields.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace s2s
