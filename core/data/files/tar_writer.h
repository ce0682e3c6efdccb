#pragma once
// Writes tar archives with the same bytes as Python's tarfile in Lhotse.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace s2s::files {

class TarWriter {
 public:
  /// `append` gets the archive's bytes in their order.
  explicit TarWriter(std::function<void(std::string_view)> append) : append_(std::move(append)) {}

  /// Adds a file with mode 0644, time 0 and owner 0. A PAX record stores a name that is not ASCII
  /// or longer than 100 bytes.
  void add(const std::string& name, std::string_view data);
  /// Writes the end of the archive; nothing may be added after it.
  void finish();
  int64_t num_bytes() const { return num_bytes_; }

 private:
  void put(std::string_view bytes);
  void put_padded(std::string_view bytes);

  std::function<void(std::string_view)> append_;
  int64_t num_bytes_ = 0;
};

}  // namespace s2s::files
