#include "streams/nemo_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/fnv.h"
#include "base/number_text.h"
#include "base/regex.h"
#include "base/text.h"
#include "files/open_bytes.h"
#include "streams/stream_errors.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

constexpr size_t kMaxOpenTars = 64;

int64_t shard_number(const std::string& path, const Regex& pattern, const char* example) {
  const auto groups = pattern.find(path);
  if (!groups) throw stream_errors::nemo_shard_name(path, example);
  const auto number = read_number<int64_t>((*groups)[1]);
  if (!number) throw stream_errors::nemo_shard_name(path, example);
  return *number;
}

template <class Map>
std::vector<int64_t> sorted_keys(const Map& map) {
  std::vector<int64_t> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string first_and_count(const std::vector<std::string>& paths) {
  return paths.size() == 1 ? "'" + paths[0] + "'"
                           : fmt::format("'{}' and {} more", paths[0], paths.size() - 1);
}

}  // namespace

std::string without_sub(const std::string& audio_filepath) {
  static const Regex kSub(R"((.+)-sub[0-9]+(\.\w+)?)");
  const auto groups = kSub.match(audio_filepath);
  return groups ? (*groups)[1] + (*groups)[2] : audio_filepath;
}

NemoShards::NemoShards(const std::vector<std::string>& manifests,
                       const std::vector<std::string>& tars, files::OnBad on_bad)
    : on_bad_(std::move(on_bad)),
      lines_(manifests, kNemoManifestExpected, on_bad_),
      is_single_(manifests.size() == 1) {
  static const Regex kManifest(R"(manifest[^/]*_([0-9]+)[^/]*\.json)");
  static const Regex kTar(R"(audio[^/]*_([0-9]+)[^/]*\.tar)");
  std::map<int64_t, std::string> tar_of;
  for (const std::string& tar : tars) tar_of[shard_number(tar, kTar, "audio_0.tar")] = tar;
  std::unordered_map<int64_t, std::vector<int64_t>> rows;
  std::unordered_map<int64_t, size_t> manifest_of;
  if (is_single_) {
    read_shard_ids(rows);
    for (const auto& [number, of_shard] : rows) manifest_of[number] = 0;
  } else {
    for (size_t i = 0; i < manifests.size(); ++i) {
      manifest_of[shard_number(manifests[i], kManifest, "manifest_0.json")] = i;
    }
  }
  if (sorted_keys(manifest_of) != sorted_keys(tar_of)) {
    throw stream_errors::nemo_shards(first_and_count(manifests), sorted_keys(manifest_of),
                                     first_and_count(tars), sorted_keys(tar_of));
  }
  for (const auto& [number, tar] : tar_of) {
    shards_.push_back({number, manifest_of[number], tar, std::move(rows[number])});
  }
}

void NemoShards::read_shard_ids(std::unordered_map<int64_t, std::vector<int64_t>>& rows) const {
  files::LineCursor cursor(lines_.open(0));
  std::string line;
  const auto add = [&](int64_t row) {
    const NemoEntry entry = parse_nemo_entry(line, lines_.path(0), row + 1);
    const auto id = entry.json.find("shard_id");
    if (id == entry.json.end() || !id->is_number_integer()) {
      throw stream_errors::nemo_line(entry.place(), "shard_id is missing or no whole number",
                                     "the number of the entry's tar, as a single manifest serves "
                                     "all of them");
    }
    rows[id->get<int64_t>()].push_back(row);
  };
  for (int64_t row = 0; cursor.next(line); row = cursor.row()) {
    if (!is_blank_line(line)) is_good(on_bad_, [&] { add(row); });
  }
}

std::shared_ptr<const files::ByteFile> NemoShards::open_tar(size_t shard) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_tars_.begin(), open_tars_.end(),
                                  [shard](const auto& open) { return open.first == shard; });
  if (found != open_tars_.end()) {
    open_tars_.splice(open_tars_.begin(), open_tars_, found);
    return open_tars_.front().second;
  }
  open_tars_.emplace_front(shard, files::open_bytes(tar(shard), tar_options_,
                                                    "a tar of audio files; check "
                                                    "tarred_audio_filepaths"));
  if (open_tars_.size() > kMaxOpenTars) open_tars_.pop_back();
  return open_tars_.front().second;
}

NemoEntry NemoShards::parse(size_t shard, int64_t row, const std::string& line) const {
  return parse_nemo_entry(line, manifest(shard), row + 1);
}

std::unordered_map<std::string, std::vector<int64_t>> NemoShards::rows_by_audio(
    size_t shard) const {
  std::unordered_map<std::string, std::vector<int64_t>> rows;
  const auto file = lines_.open(shards_[shard].manifest);
  const auto add = [&](int64_t row, const std::string& line) {
    if (is_blank_line(line)) return;
    is_good(on_bad_,
            [&] { rows[without_sub(parse(shard, row, line).audio_filepath())].push_back(row); });
  };
  if (is_single_) {
    for (const int64_t row : shards_[shard].rows) add(row, file->line(row));
    return rows;
  }
  files::LineCursor cursor(file);
  std::string line;
  for (int64_t row = 0; cursor.next(line); row = cursor.row()) add(row, line);
  return rows;
}

NemoEntry NemoShards::entry(size_t shard, int64_t row) const {
  return parse(shard, row, lines_.open(shards_[shard].manifest)->line(row));
}

uint64_t NemoShards::fingerprint() const {
  uint64_t hash = files_fingerprint(lines_.paths());
  for (const Shard& shard : shards_) {
    hash = fnv1a(std::to_string(file_fingerprint(shard.tar)), hash);
  }
  return hash;
}

}  // namespace s2s::data
