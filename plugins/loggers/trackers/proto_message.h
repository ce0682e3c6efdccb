#pragma once
// Writes protobuf messages, field by field, and reads their fields. The few messages here do not
// need libprotobuf, whose symbols LibTorch exports in another version.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::trackers {

/// A serialized message. Source: protobuf.dev/programming-guides/encoding.
class ProtoMessage {
 public:
  ProtoMessage& integer(uint32_t field, int64_t value);
  ProtoMessage& number(uint32_t field, double value);
  ProtoMessage& float32(uint32_t field, float value);
  ProtoMessage& text(uint32_t field, std::string_view value);
  ProtoMessage& message(uint32_t field, const ProtoMessage& value);
  /// A packed list.
  ProtoMessage& numbers(uint32_t field, const std::vector<double>& values);
  const std::string& bytes() const { return bytes_; }

 private:
  void key(uint32_t field, uint32_t wire_type);
  void varint(uint64_t value);
  std::string bytes_;
};

/// A field of a serialized message.
struct ProtoField {
  uint64_t number = 0;
  uint64_t integer = 0;    // of a varint
  std::string_view bytes;  // of all others
};

/// The fields of a message up to the first that is not valid.
std::vector<ProtoField> proto_fields(std::string_view bytes);

/// `num_bytes` bytes of `value`, the lowest first.
std::string little_endian_bytes(uint64_t value, int num_bytes);

}  // namespace s2s::trackers
