#include "streams/packed_text.h"

#include <array>
#include <bit>

#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> values_of_digits() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  }
  return values;
}

}  // namespace

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

std::string PackedWriter::text() const {
  std::string text;
  text.reserve((bytes_.size() * 4 + 2) / 3);
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char byte : bytes_) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (num_bits += 8; num_bits >= 6; num_bits -= 6) {
      text.push_back(kDigits[(bits >> (num_bits - 6)) & 63]);
    }
  }
  if (num_bits > 0) text.push_back(kDigits[(bits << (6 - num_bits)) & 63]);
  return text;
}

PackedReader::PackedReader(std::string_view text) {
  static constexpr auto kValues = values_of_digits();
  bytes_.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char digit : text) {
    const int8_t value = kValues[static_cast<unsigned char>(digit)];
    if (value < 0) throw stream_errors::damaged_state("a packed text has a foreign character");
    bits = (bits << 6) | static_cast<uint32_t>(value);
    num_bits += 6;
    if (num_bits >= 8) {
      num_bits -= 8;
      bytes_.push_back(static_cast<char>(bits >> num_bits));
    }
  }
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
