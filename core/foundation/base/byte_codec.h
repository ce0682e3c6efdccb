#pragma once
// Encodes values as bytes, for the answers of parsers in other processes: numbers with 8 bytes, and
// texts with their length.

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace s2s {

class ByteWriter {
 public:
  void number(int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void real(double value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Checks every read, because the writer of the bytes may be under a stranger's control.
/// Errors: std::runtime_error for bytes that end too early or have no valid meaning.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  int64_t number() { return value<int64_t>(); }
  double real() { return value<double>(); }
  /// Reads a number of 0 to `most`.
  int64_t number_up_to(int64_t most) {
    const int64_t read = number();
    if (read < 0 || read > most) fail();
    return read;
  }
  /// Reads how many items follow; each has at least one byte.
  size_t count() { return static_cast<size_t>(number_up_to(static_cast<int64_t>(rest_.size()))); }
  bool flag() { return number_up_to(1) == 1; }
  std::string_view text() { return take(count()); }
  bool at_end() const { return rest_.empty(); }

  [[noreturn]] static void fail() {
    throw std::runtime_error("the answer of a parser process makes no sense");
  }

 private:
  std::string_view take(size_t num_bytes) {
    if (num_bytes > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, num_bytes);
    rest_.remove_prefix(num_bytes);
    return taken;
  }
  template <class Value>
  Value value() {
    Value read{};
    std::memcpy(&read, take(sizeof read).data(), sizeof read);
    return read;
  }

  std::string_view rest_;
};

}  // namespace s2s
