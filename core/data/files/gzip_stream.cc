#include "files/gzip_stream.h"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "files/files_errors.h"
#include "files/gzip_apart.h"

namespace s2s::files {
namespace {

constexpr size_t kInputBytes = size_t{1} << 17;
constexpr int kGzip = 15 + 16;  // zlib's window bits, with a gzip header
constexpr int kRaw = -15;       // without a header
constexpr int kTrailerBytes = 8;

/// Counts what was inflated even if the rest is damaged.
struct CountAtExit {
  int64_t& out;
  const z_stream& zlib;
  const Bytef* start;
  ~CountAtExit() { out += zlib.next_out - start; }
};

std::runtime_error damaged(const char* reason) { return std::runtime_error(reason); }

}  // namespace

struct GzipStream::State {
  z_stream zlib = {};
  std::vector<unsigned char> input = std::vector<unsigned char>(kInputBytes);
  int64_t input_end = 0;  // file offset after the bytes of `input`
  bool raw = false;       // zlib gets neither header nor trailer
  bool member_start = true;

  explicit State(int64_t begin) : input_end(begin) {
    if (inflateInit2(&zlib, kGzip) != Z_OK) throw std::bad_alloc();
  }
  ~State() { inflateEnd(&zlib); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

bool is_gzip(std::string_view first_bytes) { return first_bytes.starts_with("\x1f\x8b"); }

GzipStream::GzipStream(const ByteFile& file) : file_(file) {
  if (parses_apart()) {
    apart_ = std::make_unique<GzipApart>(file, std::nullopt);
    return;
  }
  state_ = std::make_unique<State>(0);
}

GzipStream::GzipStream(const ByteFile& file, const GzipPoint& point)
    : file_(file), out_(point.out) {
  if (parses_apart()) {
    apart_ = std::make_unique<GzipApart>(file, point);
    return;
  }
  state_ = std::make_unique<State>(point.in);
  if (point.bits != GzipPoint::kMemberStart) restart_at(point);
}

GzipStream::~GzipStream() = default;

void GzipStream::restart_at(const GzipPoint& point) {
  z_stream& zlib = state_->zlib;
  state_->raw = true;
  state_->member_start = false;
  inflateReset2(&zlib, kRaw);
  if (point.bits > 0) {
    unsigned char byte = 0;
    file_.read(point.in - 1, &byte, 1);
    inflatePrime(&zlib, point.bits, byte >> (8 - point.bits));
  }
  if (!point.window.empty()) {
    inflateSetDictionary(&zlib, reinterpret_cast<const Bytef*>(point.window.data()),
                         static_cast<uInt>(point.window.size()));
  }
}

bool GzipStream::at_end() const { return apart_ ? apart_->at_end() : at_end_; }
int64_t GzipStream::out() const { return apart_ ? apart_->out() : out_; }

int64_t GzipStream::in() const {
  if (apart_) return apart_->in();
  return state_->input_end - static_cast<int64_t>(state_->zlib.avail_in);
}

/// Reads more input. Returns false at the file's end.
bool GzipStream::refill() {
  State& state = *state_;
  if (state.zlib.avail_in > 0) return true;
  const int64_t left = file_.size() - state.input_end;
  const auto num_bytes = static_cast<size_t>(std::min<int64_t>(left, kInputBytes));
  if (num_bytes == 0) return false;
  file_.read(state.input_end, state.input.data(), num_bytes);
  state.input_end += static_cast<int64_t>(num_bytes);
  state.zlib.next_in = state.input.data();
  state.zlib.avail_in = static_cast<uInt>(num_bytes);
  return true;
}

/// Called at the end of a member. Skips zeros, with which some tools pad; returns false at the
/// file's end.
bool GzipStream::begin_member() {
  z_stream& zlib = state_->zlib;
  while (refill() && *zlib.next_in == 0 && out_ + in() > 0) {
    ++zlib.next_in;
    --zlib.avail_in;
  }
  if (zlib.avail_in == 0) return false;
  inflateReset2(&zlib, kGzip);
  state_->raw = false;
  return true;
}

void GzipStream::finish_member() {
  State& state = *state_;
  // Inflating began inside this member, so its checksum cannot be compared.
  for (int i = 0; state.raw && i < kTrailerBytes; ++i) {
    if (!refill()) throw damaged("it ends within a member");
    ++state.zlib.next_in;
    --state.zlib.avail_in;
  }
  state.member_start = true;
}

size_t GzipStream::read(char* to, size_t num_bytes, bool stop_at_block) {
  return apart_ ? apart_->read(to, num_bytes, stop_at_block)
                : read_here(to, num_bytes, stop_at_block);
}

size_t GzipStream::read_here(char* to, size_t num_bytes, bool stop_at_block) {
  z_stream& zlib = state_->zlib;
  zlib.next_out = reinterpret_cast<Bytef*>(to);
  zlib.avail_out = static_cast<uInt>(std::min<size_t>(num_bytes, size_t{1} << 30));
  const CountAtExit count{out_, zlib, zlib.next_out};
  while (!at_end_ && zlib.avail_out > 0) {
    if (state_->member_start) {
      if (!begin_member()) {
        at_end_ = true;
        break;
      }
      state_->member_start = false;
    }
    if (!refill()) throw damaged("it ends within a member");
    const int code = inflate(&zlib, stop_at_block ? Z_BLOCK : Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      finish_member();
      if (stop_at_block) break;
      continue;
    }
    if (code != Z_OK && code != Z_BUF_ERROR) {
      throw damaged(zlib.msg != nullptr ? zlib.msg : "no gzip data");
    }
    if (stop_at_block && at_point()) break;
  }
  return static_cast<size_t>(zlib.next_out - count.start);
}

bool GzipStream::at_point() const {
  constexpr int kBlockEnd = 128;
  constexpr int kLastBlock = 64;
  if (apart_) return apart_->at_point();
  if (state_->member_start) return true;
  const int type = state_->zlib.data_type;
  return (type & kBlockEnd) != 0 && (type & kLastBlock) == 0;
}

GzipPoint GzipStream::point() const {
  if (apart_) return apart_->point();
  GzipPoint point;
  point.in = in();
  point.out = out_;
  if (state_->member_start) {
    point.bits = GzipPoint::kMemberStart;
    return point;
  }
  constexpr int kUnusedBits = 7;
  constexpr size_t kWindowBytes = 32768;
  point.bits = state_->zlib.data_type & kUnusedBits;
  point.window.resize(kWindowBytes);
  uInt length = 0;
  inflateGetDictionary(&state_->zlib, reinterpret_cast<Bytef*>(point.window.data()), &length);
  point.window.resize(length);
  return point;
}

int64_t most_content_bytes(int64_t compressed_bytes) {
  return std::clamp(compressed_bytes * kMostRatio, kContentBytes, kMostHeldBytes);
}

std::string inflate_whole(const ByteFile& file, const InflateOptions& options) {
  GzipStream stream(file);
  std::string content;
  constexpr size_t kFirstBytes = size_t{1} << 16;
  try {
    while (!stream.at_end()) {
      const size_t had = content.size();
      const size_t most = static_cast<size_t>(options.most_bytes) + 1;
      content.resize(std::min(std::max(kFirstBytes, had * 2), most));
      content.resize(had + stream.read(content.data() + had, content.size() - had));
      if (content.size() == most) throw TooMuchContent{};
    }
  } catch (const std::runtime_error& error) {
    if (dynamic_cast<const Error*>(&error) != nullptr) throw;
    content.resize(static_cast<size_t>(stream.out()));
    const auto lines = std::count(content.begin(), content.end(), '\n');
    const Error damage = files_errors::gzip(file.name(), lines, error.what());
    if (!options.on_damage) throw damage;
    options.on_damage(damage);
    /// Without a line end (npos), nothing is left.
    if (options.with_lines) content.resize(content.rfind('\n') + 1);
  }
  content.shrink_to_fit();
  return content;
}

}  // namespace s2s::files
