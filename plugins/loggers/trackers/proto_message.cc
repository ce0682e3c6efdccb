#include "proto_message.h"

#include <bit>
#include <optional>

namespace s2s::trackers {
namespace {

// Wire types.
constexpr uint32_t kVarint = 0, kFixed64 = 1, kLengthPrefixed = 2, kFixed32 = 5;

/// Takes a varint from the front of `bytes`.
std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

/// Takes the value of a field of this wire type.
bool take_value(std::string_view& bytes, uint64_t wire_type, ProtoField& field) {
  std::optional<uint64_t> length;
  if (wire_type == kVarint) {
    length = take_varint(bytes);
    field.integer = length.value_or(0);
    return length.has_value();
  }
  if (wire_type == kFixed64) length = 8;
  if (wire_type == kFixed32) length = 4;
  if (wire_type == kLengthPrefixed) length = take_varint(bytes);
  if (!length || *length > bytes.size()) return false;
  field.bytes = bytes.substr(0, *length);
  bytes.remove_prefix(*length);
  return true;
}

}  // namespace

std::string little_endian_bytes(uint64_t value, int num_bytes) {
  std::string bytes;
  for (int i = 0; i < num_bytes; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return bytes;
}

void ProtoMessage::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>((value & 0x7FU) | 0x80U);
  bytes_ += static_cast<char>(value);
}

void ProtoMessage::key(uint32_t field, uint32_t wire_type) { varint(field << 3U | wire_type); }

ProtoMessage& ProtoMessage::integer(uint32_t field, int64_t value) {
  key(field, kVarint);
  varint(static_cast<uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::number(uint32_t field, double value) {
  key(field, kFixed64);
  bytes_ += little_endian_bytes(std::bit_cast<uint64_t>(value), 8);
  return *this;
}

ProtoMessage& ProtoMessage::float32(uint32_t field, float value) {
  key(field, kFixed32);
  bytes_ += little_endian_bytes(std::bit_cast<uint32_t>(value), 4);
  return *this;
}

ProtoMessage& ProtoMessage::text(uint32_t field, std::string_view value) {
  key(field, kLengthPrefixed);
  varint(value.size());
  bytes_ += value;
  return *this;
}

ProtoMessage& ProtoMessage::message(uint32_t field, const ProtoMessage& value) {
  return text(field, value.bytes());
}

ProtoMessage& ProtoMessage::numbers(uint32_t field, const std::vector<double>& values) {
  key(field, kLengthPrefixed);
  varint(8 * values.size());
  for (const double value : values) {
    bytes_ += little_endian_bytes(std::bit_cast<uint64_t>(value), 8);
  }
  return *this;
}

std::vector<ProtoField> proto_fields(std::string_view bytes) {
  std::vector<ProtoField> fields;
  while (!bytes.empty()) {
    const std::optional<uint64_t> key = take_varint(bytes);
    if (!key) break;
    ProtoField field;
    field.number = *key >> 3U;
    if (!take_value(bytes, *key & 7U, field)) break;
    fields.push_back(field);
  }
  return fields;
}

}  // namespace s2s::trackers
