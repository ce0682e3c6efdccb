// Lines of a large manifest: makes one, its index, and reads it; prints seconds and memory as JSON.
//
//   lines_bench make FILE ROWS     a manifest of cuts, gzip when FILE ends with .gz
//   lines_bench open FILE          opens it; the first time the index is made
//   lines_bench random FILE COUNT  COUNT cuts anywhere, parsed
//   lines_bench stream FILE COUNT  restores a stream in the middle; COUNT cuts one behind the other

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/atomic_file.h"
#include "cuts/cut_files.h"
#include "files/gzip_writer.h"
#include "files/line_file.h"
#include "streams/leaf_streams.h"

namespace {

/// Largest resident memory so far, bytes.
int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string cut_line(int64_t row) {
  const double duration_s = 1.0 + static_cast<double>(row % 977) / 64;
  return fmt::format(
      R"({{"id": "cut-{0}", "start": 0.0, "duration": {1}, "channel": 0, "supervisions": )"
      R"([{{"id": "s-{0}", "recording_id": "r-{0}", "start": 0.0, "duration": {1}, "channel": 0, )"
      R"("text": "number {0} is said here", "speaker": "user"}}], "recording": {{"id": "r-{0}", )"
      R"("sources": [{{"type": "file", "channels": [0], "source": "/data/{0}.flac"}}], )"
      R"("sampling_rate": 16000, "num_samples": {2}, "duration": {1}, "channel_ids": [0]}}, )"
      R"("type": "MonoCut"}})"
      "\n",
      row, duration_s, static_cast<int64_t>(duration_s * 16000));
}

int64_t make(const std::string& path, int64_t rows) {
  s2s::AtomicFile file(path);
  s2s::files::GzipWriter gzip([&](std::string_view bytes) { file.write(bytes); });
  const bool is_gzip = path.ends_with(".gz");
  std::string text;
  for (int64_t row = 0; row < rows; ++row) {
    text += cut_line(row);
    constexpr size_t kBytes = size_t{1} << 20;
    if (text.size() < kBytes && row + 1 < rows) continue;
    is_gzip ? gzip.write(text) : file.write(text);
    text.clear();
  }
  if (is_gzip) gzip.finish();
  file.commit();
  return rows;
}

int64_t read_random(const s2s::files::LineFile& file, int64_t count) {
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(file.size()));
    const s2s::Cut cut = s2s::parse_cut(file.line(row), file.path(), row + 1);
    if (cut.id != fmt::format("cut-{}", row)) return -1;
  }
  return count;
}

int64_t read_stream(const std::string& path, int64_t count) {
  const s2s::data::StreamPtr stream = s2s::data::open_manifests({path});
  const int64_t first = *stream->size() / 2;
  const double start_s = now_s();
  stream->restore({{"file", 0}, {"row", first}});
  const auto item = stream->next();
  std::fprintf(stderr, "restored and first cut after %.4f s\n", now_s() - start_s);
  if (item->cut->id != fmt::format("cut-{}", first)) return -1;
  int64_t done = 1;
  while (done < count && stream->next()) ++done;
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  const std::string path = argc > 2 ? argv[2] : "";
  const int64_t count = argc > 3 ? std::stoll(argv[3]) : 1;
  const double start_s = now_s();
  int64_t done = -1;
  if (what == "make") done = make(path, count);
  if (what == "open") done = s2s::files::open_line_file(path)->size();
  if (what == "random") done = read_random(*s2s::files::open_line_file(path), count);
  if (what == "stream") done = read_stream(path, count);
  if (done < 0) {
    std::fprintf(stderr, "usage: lines_bench make|open|random|stream FILE [COUNT]\n");
    return 2;
  }
  const nlohmann::ordered_json out = {
      {"what", what}, {"rows", done}, {"seconds", now_s() - start_s}, {"peak_bytes", peak_bytes()}};
  std::printf("%s\n", out.dump().c_str());
  return 0;
}
