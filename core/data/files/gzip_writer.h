#pragma once
// Compresses to gzip while data arrives.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace s2s::files {

class GzipWriter {
 public:
  /// `append` gets the compressed bytes. They have no time and no name, so equal content gives
  /// equal bytes.
  explicit GzipWriter(std::function<void(std::string_view)> append);
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void write(std::string_view bytes);
  /// Writes the end; nothing may be written after it.
  void finish();

 private:
  struct State;
  void deflate_all(int flush);

  std::function<void(std::string_view)> append_;
  std::unique_ptr<State> state_;
};

}  // namespace s2s::files
