#include "streams/manifest_stream.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fnv.h"
#include "cuts/cut_files.h"
#include "files/files_errors.h"
#include "files/pipe_command.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

constexpr const char* kExpected = "a file of Lhotse cuts (.jsonl or .jsonl.gz); check cuts_path";

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

ManifestStream::ManifestStream(ManifestStreamOptions options) : options_(std::move(options)) {
  for (const std::string& path : options_.paths) {
    if (files::pipe_command(path)) continue;
    if (files::is_url(path)) throw files_errors::url(path);
    if (!std::filesystem::exists(path)) throw files_errors::missing_file(path, kExpected);
  }
  if (!options_.open.cache) options_.open.cache = std::make_shared<files::ByteCache>();
  options_.open.on_damage = options_.on_bad;
  files_.resize(options_.paths.size());
}

std::shared_ptr<const files::LineFile> ManifestStream::file(size_t i) const {
  const std::lock_guard lock(mutex_);
  S2S_ASSERT(i < files_.size(), "tokens and states are of this stream");
  if (!files_[i]) files_[i] = files::open_line_file(options_.paths[i], options_.open, kExpected);
  return files_[i];
}

std::shared_ptr<const Cut> ManifestStream::parse(size_t file_number, int64_t row,
                                                 const std::string& line) const {
  auto cut = std::make_shared<Cut>(s2s::parse_cut(line, options_.paths[file_number], row + 1));
  if (options_.resolve_paths) s2s::resolve_paths(*cut);
  return cut;
}

std::shared_ptr<const Cut> ManifestStream::make(CutKeyView token) const {
  S2S_ASSERT(token.size() == 2, "a token of this stream is [file, row]");
  const auto file_number = static_cast<size_t>(token[0]);
  return parse(file_number, token[1], file(file_number)->line(token[1]));
}

std::optional<CutItem> ManifestStream::next() {
  return options_.shuffle_seed ? next_shuffled() : next_in_order();
}

std::optional<CutItem> ManifestStream::next_in_order() {
  std::string line;
  for (; at_file_ < files_.size(); ++at_file_, at_row_ = 0, cursor_.reset()) {
    if (!cursor_) cursor_.emplace(file(at_file_), at_row_);
    while (cursor_->next(line)) {
      const int64_t row = at_row_++;
      if (is_blank(line)) continue;
      CutItem item{{static_cast<int64_t>(at_file_), row}, nullptr};
      if (is_good(options_.on_bad, [&] { item.cut = parse(at_file_, row, line); })) return item;
    }
  }
  return std::nullopt;
}

std::optional<CutItem> ManifestStream::next_shuffled() {
  if (!order_) order_.emplace(*size(), *options_.shuffle_seed);
  while (at_row_ < order_->size()) {
    const auto place = place_of(order_->at(at_row_++));
    const size_t file_number = place.first;
    const int64_t row = place.second;
    const std::string line = file(file_number)->line(row);
    if (is_blank(line)) continue;
    CutItem item{{static_cast<int64_t>(file_number), row}, nullptr};
    if (is_good(options_.on_bad, [&] { item.cut = parse(file_number, row, line); })) return item;
  }
  return std::nullopt;
}

std::pair<size_t, int64_t> ManifestStream::place_of(int64_t row) const {
  size_t file_number = 0;
  while (row >= file(file_number)->size()) row -= file(file_number++)->size();
  return {file_number, row};
}

void ManifestStream::rewind(int64_t /*epoch*/) {
  at_file_ = 0;
  at_row_ = 0;
  cursor_.reset();
}

StreamState ManifestStream::state() const { return {{"file", at_file_}, {"row", at_row_}}; }

void ManifestStream::restore(const StreamState& state) {
  at_file_ = state_field<size_t>(state, "file");
  at_row_ = state_field<int64_t>(state, "row");
  if (at_file_ > files_.size() || at_row_ < 0) {
    throw stream_errors::damaged_state("it is behind the end of the manifests");
  }
  cursor_.reset();
}

uint64_t ManifestStream::fingerprint() const {
  uint64_t hash = kFnvStart;
  for (const std::string& path : options_.paths) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(path, unknown);
    hash = fnv1a(std::filesystem::path(path).filename().string(), hash);
    if (!unknown) hash = fnv1a(std::to_string(bytes), hash);
  }
  if (options_.shuffle_seed) hash = fnv1a(std::to_string(*options_.shuffle_seed), hash);
  return hash;
}

std::optional<int64_t> ManifestStream::size() const {
  int64_t total = 0;
  for (size_t i = 0; i < files_.size(); ++i) total += file(i)->size();
  return total;
}

}  // namespace s2s::data
