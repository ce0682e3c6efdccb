#include "files/gzip_apart.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "base/byte_codec.h"
#include "base/io_errors.h"
#include "base/write_whole.h"

namespace s2s::files {
namespace {

constexpr size_t kAnswerBytes = size_t{1} << 20;

/// An open file that a parser process was given.
class GivenFile : public ByteFile {
 public:
  GivenFile(std::string name, int file) : ByteFile(std::move(name)), file_(file) {
    struct stat facts {};
    if (::fstat(file, &facts) == 0) size_ = facts.st_size;
  }
  int64_t size() const override { return size_; }
  void read(int64_t offset, void* to, size_t num_bytes) const override {
    char* at = static_cast<char*>(to);
    InterruptedCalls interrupted;
    while (num_bytes > 0) {
      const ssize_t count = ::pread(file_, at, num_bytes, offset);
      if (count < 0 && interrupted.again()) continue;
      if (count < 0) throw read_error(name(), errno);
      if (count == 0) throw std::runtime_error("it has become shorter");
      interrupted.reset();
      at += count;
      offset += count;
      num_bytes -= static_cast<size_t>(count);
    }
  }

 private:
  int file_;
  int64_t size_ = 0;
};

void write_point(const GzipPoint& point, ByteWriter& to) {
  to.number(point.in);
  to.number(point.out);
  to.number(point.bits);
  to.text(point.window);
}

GzipPoint read_point(ByteReader& from) {
  GzipPoint point;
  point.in = from.number_up_to(INT64_MAX);
  point.out = from.number_up_to(INT64_MAX);
  point.bits = static_cast<int>(std::max<int64_t>(from.number(), GzipPoint::kMemberStart));
  point.window = from.text();
  if (point.bits > 7) ByteReader::fail();
  return point;
}

/// State of a parser process. The first request has the file's name, and the point if there is one.
struct Stream {
  Stream(ByteReader& request, int number) : file(std::string(request.text()), number) {
    stream = request.flag() ? std::make_unique<GzipStream>(file, read_point(request))
                            : std::make_unique<GzipStream>(file);
  }
  GivenFile file;
  std::unique_ptr<GzipStream> stream;
};

/// Later requests have the number of bytes and say whether to stop at a block.
std::string inflate_in_parser(std::string_view bytes, const std::vector<int>& files) {
  static std::unique_ptr<Stream> opened;
  ByteReader request(bytes);
  if (opened == nullptr) {
    opened = std::make_unique<Stream>(request, files.at(0));
    return "";
  }
  const auto num_bytes = static_cast<size_t>(request.number_up_to(kAnswerBytes));
  const bool stop_at_block = request.flag();
  GzipStream& stream = *opened->stream;
  const int64_t begin = stream.out();
  std::string content(num_bytes, '\0');
  std::string damage;
  try {
    stream.read(content.data(), num_bytes, stop_at_block);
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    damage = error.what();
  }
  content.resize(static_cast<size_t>(stream.out() - begin));
  ByteWriter to;
  to.text(content);
  to.text(damage);
  to.number(stream.at_end() ? 1 : 0);
  to.number(stream.in());
  const bool is_point = damage.empty() && stop_at_block && stream.at_point();
  to.number(is_point ? 1 : 0);
  if (is_point) write_point(stream.point(), to);
  return to.take();
}

/// A file for a parser process: the file itself, or a copy of its bytes in memory.
class FileToGive {
 public:
  explicit FileToGive(const ByteFile& from)
      : file_(from.is_plain() ? ::open(from.name().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                              : ::memfd_create("s2s", MFD_CLOEXEC)) {
    if (file_ < 0) throw read_error(from.name(), errno);
    if (!from.is_plain()) copy(from);
  }
  ~FileToGive() { ::close(file_); }
  FileToGive(const FileToGive&) = delete;
  FileToGive& operator=(const FileToGive&) = delete;
  int get() const { return file_; }

 private:
  void copy(const ByteFile& from) const {
    for (int64_t offset = 0; offset < from.size();) {
      const auto part = std::min<int64_t>(from.size() - offset, kAnswerBytes);
      const std::string bytes = from.read_text(offset, static_cast<size_t>(part));
      if (!write_whole(file_, bytes.data(), bytes.size())) throw read_error(from.name(), errno);
      offset += part;
    }
  }
  int file_;
};

}  // namespace

GzipApart::GzipApart(const ByteFile& file, const std::optional<GzipPoint>& point)
    : process_(file.name(), inflate_in_parser, {FileToGive(file).get()}) {
  ByteWriter request;
  request.text(file.name());
  request.number(point ? 1 : 0);
  if (point) {
    write_point(*point, request);
    in_ = point->in;
    out_ = point->out;
  }
  process_.answer(request.take());
}

size_t GzipApart::read(char* to, size_t num_bytes, bool stop_at_block) {
  size_t done = 0;
  point_.reset();
  while (done < num_bytes && !at_end_) {
    ByteWriter request;
    const size_t wanted = std::min(num_bytes - done, kAnswerBytes);
    request.number(static_cast<int64_t>(wanted));
    request.number(stop_at_block ? 1 : 0);
    const std::string bytes = process_.answer(request.take());
    ByteReader reader(bytes);
    const std::string_view content = reader.text();
    if (content.size() > wanted) ByteReader::fail();
    const std::string damage(reader.text());
    std::memcpy(to + done, content.data(), content.size());
    done += content.size();
    out_ += static_cast<int64_t>(content.size());
    at_end_ = reader.flag();
    in_ = reader.number_up_to(INT64_MAX);
    if (reader.flag()) point_ = read_point(reader);
    if (!damage.empty()) throw std::runtime_error(damage);
    if (content.empty() || (stop_at_block && content.size() < wanted)) break;
  }
  return done;
}

}  // namespace s2s::files
