#include "base/standard_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ext/stdio_sync_filebuf.h>
#include <iostream>
#include <memory>

#include "base/utf8_reader.h"
#include "s2s/interrupted_calls.h"

namespace s2s {
namespace {

/// The target of the C library's `stdout`; it exists until the process ends.
struct Sink {
  OutputEscaper escaper;
  bool is_open = true;
  int reason = 0;  // errno of lost output
};

Sink& sink() {
  /// Never destroyed, because output may come after static objects are gone.
  static Sink* const kSink = new Sink();
  return *kSink;
}

/// Returns false if the text cannot be written. If the reader has ended, the sink is closed.
bool write_out(std::string_view text) {
  const int reason = write_standard_output(text, sink().is_open);
  if (reason != 0) sink().reason = reason;
  return reason == 0;
}

ssize_t write_escaped(void*, const char* data, size_t size) {
  const std::string_view text(data, size);
  return write_out(sink().escaper.add(text)) ? static_cast<ssize_t>(size) : 0;
}

/// From now on, printf and std::cout write to `file`, which exists until the process ends.
void set_standard_output(std::FILE* file) {
  std::fflush(stdout);
  std::setvbuf(file, nullptr, ::isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF, BUFSIZ);
  stdout = file;
  using Buffer = __gnu_cxx::stdio_sync_filebuf<char>;
  static auto* const kBuffer = new std::unique_ptr<Buffer>();  // never destroyed, like the sink
  auto buffer = std::make_unique<Buffer>(file);
  std::cout.rdbuf(buffer.get());
  *kBuffer = std::move(buffer);
}

void write_rest() {
  std::fflush(stdout);
  write_out(sink().escaper.end());
}

}  // namespace

int write_standard_output(std::string_view& text, bool& is_open) {
  InterruptedCalls interrupted;
  while (is_open && !text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      interrupted.reset();
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EPIPE || errno == EIO) {
      is_open = false;
    } else if (errno == EAGAIN) {
      pollfd until_writable = {STDOUT_FILENO, POLLOUT, 0};
      ::poll(&until_writable, 1, -1);
    } else if (!interrupted.again()) {
      return errno;
    }
  }
  return 0;
}

void open_standard_descriptors() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

void escape_standard_output() {
  cookie_io_functions_t functions = {};
  functions.write = write_escaped;
  std::FILE* const file = ::fopencookie(nullptr, "w", functions);
  if (file == nullptr) return;
  set_standard_output(file);
  std::atexit(write_rest);
}

int finish_standard_output() {
  const bool is_whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_whole || !sink().is_open || errno == EPIPE) return sink().reason;
  return sink().reason != 0 ? sink().reason : EIO;
}

void write_standard_output_as_it_is() {
  if (::isatty(STDOUT_FILENO) == 1) return;
  // The launcher and the library each have a copy of this file, but there is only one `stdout`.
  if (std::FILE* const file = ::fdopen(STDOUT_FILENO, "w")) set_standard_output(file);
}

std::string OutputEscaper::add(std::string_view more) {
  const std::string all = std::move(held_) + std::string(more);
  held_.clear();
  std::string out;
  out.reserve(all.size());
  for (std::string_view text = all; !text.empty();) {
    const Utf8Character first = first_character(text);
    if (first.kind == Utf8Character::kCut) {
      held_ = text;
      break;
    }
    if (first.kind == Utf8Character::kInvalid) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (is_control_character(first.code) && first.code != '\n' && first.code != '\t') {
      out += fmt::format("\\u{:04x}", first.code);
    } else {
      out += text.substr(0, first.num_bytes);
    }
    text.remove_prefix(first.num_bytes);
  }
  return out;
}

std::string OutputEscaper::end() {
  std::string out;
  for (const char byte : held_) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  held_.clear();
  return out;
}

}  // namespace s2s
