#include "streams/packed_text.h"

#include <bit>
#include <optional>
#include <utility>

#include "base/text.h"
#include "streams/stream_errors.h"

namespace s2s::data {

void PackedWriter::add(int64_t number) {
  // Zigzag code, so that small negative numbers are short, too.
  uint64_t rest = (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
  while (rest >= 0x80) {
    bytes_.push_back(static_cast<char>(rest | 0x80));
    rest >>= 7;
  }
  bytes_.push_back(static_cast<char>(rest));
}

void PackedWriter::add_double(double number) {
  const auto bits = std::bit_cast<uint64_t>(number);
  add_word(static_cast<uint32_t>(bits));
  add_word(static_cast<uint32_t>(bits >> 32));
}

void PackedWriter::add_word(uint32_t word) {
  for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<char>(word >> shift));
}

void PackedWriter::add_all(std::span<const int64_t> numbers) {
  add(static_cast<int64_t>(numbers.size()));
  for (const int64_t number : numbers) add(number);
}

std::string PackedWriter::text() const { return std::string(without_padding(to_base64(bytes_))); }

PackedReader::PackedReader(std::string_view text) {
  std::optional<std::string> bytes = from_base64(text);
  if (!bytes) throw stream_errors::damaged_state("a packed text has a foreign character");
  bytes_ = std::move(*bytes);
}

uint8_t PackedReader::next_byte() {
  if (at_end()) throw stream_errors::damaged_state("a packed text is too short");
  return static_cast<uint8_t>(bytes_[position_++]);
}

int64_t PackedReader::next() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint64_t byte = next_byte();
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  throw stream_errors::damaged_state("a packed number is too long");
}

double PackedReader::next_double() {
  const uint64_t low = next_word();
  const uint64_t high = next_word();
  return std::bit_cast<double>(low | (high << 32));
}

uint32_t PackedReader::next_word() {
  uint32_t word = 0;
  for (int shift = 0; shift < 32; shift += 8) word |= static_cast<uint32_t>(next_byte()) << shift;
  return word;
}

std::vector<int64_t> PackedReader::next_all() {
  const int64_t count = next();
  if (count < 0 || static_cast<uint64_t>(count) > bytes_.size() - position_) {
    throw stream_errors::damaged_state("a packed list is longer than its text");
  }
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (int64_t& number : numbers) number = next();
  return numbers;
}

}  // namespace s2s::data
