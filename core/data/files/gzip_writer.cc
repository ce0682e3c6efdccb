#include "files/gzip_writer.h"

#include <zlib.h>

#include <array>
#include <new>

namespace s2s::files {

struct GzipWriter::State {
  z_stream zlib = {};
  std::array<unsigned char, size_t{1} << 16> output = {};

  State() {
    constexpr int kGzip = 15 + 16;
    constexpr int kMemory = 8;  // zlib's default
    if (deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~State() { deflateEnd(&zlib); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

GzipWriter::GzipWriter(std::function<void(std::string_view)> append)
    : append_(std::move(append)), state_(std::make_unique<State>()) {}

GzipWriter::~GzipWriter() = default;

void GzipWriter::deflate_all(int flush) {
  z_stream& zlib = state_->zlib;
  int code = Z_OK;
  do {
    zlib.next_out = state_->output.data();
    zlib.avail_out = static_cast<uInt>(state_->output.size());
    code = deflate(&zlib, flush);
    const size_t length = state_->output.size() - zlib.avail_out;
    if (length > 0) append_({reinterpret_cast<const char*>(state_->output.data()), length});
  } while (zlib.avail_out == 0 || (flush == Z_FINISH && code != Z_STREAM_END));
}

void GzipWriter::write(std::string_view bytes) {
  constexpr size_t kMostBytes = size_t{1} << 30;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kMostBytes);
    // zlib does not modify its input.
    state_->zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    state_->zlib.avail_in = static_cast<uInt>(piece.size());
    deflate_all(Z_NO_FLUSH);
    bytes.remove_prefix(piece.size());
  }
}

void GzipWriter::finish() { deflate_all(Z_FINISH); }

}  // namespace s2s::files
