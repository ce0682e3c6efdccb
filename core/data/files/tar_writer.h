#pragma once
// Writes tar archives, byte for byte as Python's tarfile does for Lhotse.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace s2s::files {

class TarWriter {
 public:
  /// `append` gets the archive's bytes in order.
  explicit TarWriter(std::function<void(std::string_view)> append) : append_(std::move(append)) {}

  /// A file: mode 0644, time 0, owner 0; names beyond ASCII or 100 bytes in a PAX record.
  void add(const std::string& name, std::string_view data);
  /// The end of the archive; nothing is added behind it.
  void finish();
  int64_t num_bytes() const { return num_bytes_; }

 private:
  void put(std::string_view bytes);
  void put_padded(std::string_view bytes);

  std::function<void(std::string_view)> append_;
  int64_t num_bytes_ = 0;
};

}  // namespace s2s::files
