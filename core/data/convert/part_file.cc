#include "convert/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "convert/convert_errors.h"
#include "s2s/interrupted_calls.h"

namespace s2s::convert {
namespace {

using nlohmann::json;

json as_json(const PartState& state) {
  return {{"fingerprint", state.fingerprint},
          {"source", state.source},
          {"pieces", state.pieces},
          {"num_cuts", state.cuts},
          {"without_turns", state.without_turns},
          {"seconds", state.seconds},
          {"bytes", state.bytes},
          {"skipped", state.skipped}};
}

std::string compressed(const std::string& text) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

PartFile::PartFile(const std::string& path, uint64_t fingerprint)
    : path_(path), part_(path + ".part"), gzip_(path.ends_with(".gz")) {
  file_ = open(part_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw write_error(part_, "cannot make", errno);
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    close(file_);
    throw convert_errors::in_use(path);
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  remove_partial_files(folder.empty() ? "." : folder);
  read_state(fingerprint);
  if (ftruncate(file_, state_.bytes) != 0) throw write_error(part_, "cannot cut", errno);
  lseek(file_, 0, SEEK_END);
}

PartFile::~PartFile() {
  if (file_ >= 0) close(file_);
}

void PartFile::read_state(uint64_t fingerprint) {
  state_.fingerprint = fingerprint;
  json saved;
  try {
    saved = try_parse_foreign_json(read_small_file(part_ + ".json"));
  } catch (const std::system_error&) {  // there is no partial result
  }
  std::error_code ignored;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(part_, ignored));
  if (!saved.is_object() || saved.value("fingerprint", uint64_t{0}) != fingerprint ||
      saved.value("bytes", size + 1) > size) {
    return;
  }
  state_.source = saved.value("source", uint64_t{0});
  state_.pieces = saved.value("pieces", int64_t{0});
  state_.cuts = saved.value("num_cuts", int64_t{0});
  state_.without_turns = saved.value("without_turns", int64_t{0});
  state_.seconds = saved.value("seconds", 0.0);
  state_.bytes = saved.value("bytes", int64_t{0});
  state_.skipped = saved.value("skipped", std::vector<std::string>{});
}

void PartFile::begin_anew() {
  state_ = PartState{.fingerprint = state_.fingerprint};
  waiting_.clear();
  if (ftruncate(file_, 0) != 0) throw write_error(part_, "cannot cut", errno);
  lseek(file_, 0, SEEK_SET);
}

void PartFile::for_each_line(const std::function<void(const std::string&)>& take) const {
  gzFile file = gzopen(part_.c_str(), "rb");  // also reads plain files
  if (file == nullptr) throw write_error(part_, "cannot read", errno);
  std::string text;
  char chunk[1 << 16];
  for (int got; (got = gzread(file, chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      take(text.substr(begin, end - begin));
    }
    text.erase(0, begin);
  }
  gzclose(file);
}

void PartFile::write(const std::string& bytes) {
  InterruptedCalls interrupted;
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(file_, bytes.data() + at, bytes.size() - at);
    if (written < 0 && interrupted.again()) continue;
    if (written < 0) throw write_error(part_, "cannot write", errno);
    interrupted.reset();
    at += static_cast<size_t>(written);
  }
  state_.bytes += static_cast<int64_t>(bytes.size());
}

void PartFile::checkpoint() {
  if (!waiting_.empty()) write(gzip_ ? compressed(waiting_) : waiting_);
  waiting_.clear();
  if (fsync(file_) != 0) throw write_error(part_, "cannot put it on the disk", errno);
  write_file_atomically(part_ + ".json", as_json(state_).dump() + "\n");
}

void PartFile::discard() {
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
  std::filesystem::remove(part_ + ".json", ignored);
}

void PartFile::commit() {
  checkpoint();
  rename_durably(part_, path_);
  std::error_code ignored;
  std::filesystem::remove(part_ + ".json", ignored);
}

void forget_finished_part(const std::string& path) {
  const std::string part = path + ".part";
  std::error_code ignored;
  if (std::filesystem::exists(part, ignored)) return;  // another conversion, or a replacement
  std::filesystem::remove(part + ".json", ignored);
}

}  // namespace s2s::convert
