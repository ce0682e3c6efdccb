#pragma once
// Writes gzip as it comes.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace s2s::files {

class GzipWriter {
 public:
  /// `append` gets the compressed bytes; the same content gives the same bytes (no time, no name).
  explicit GzipWriter(std::function<void(std::string_view)> append);
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void write(std::string_view bytes);
  /// The end; nothing is written behind it.
  void finish();

 private:
  struct State;
  void deflate_all(int flush);

  std::function<void(std::string_view)> append_;
  std::unique_ptr<State> state_;
};

}  // namespace s2s::files
