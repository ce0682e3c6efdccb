#include "files/tar_index.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "files/files_errors.h"
#include "files/open_bytes.h"

namespace s2s::files {
namespace {

constexpr const char* kExpected = "a tar archive; check the path";

bool has_extension(std::string_view name, std::string_view extension) {
  return name.ends_with(extension) && tar_stem(name).size() + extension.size() == name.size();
}

/// Returns the next pair that begins at or after `at`, or nothing at the end.
std::optional<std::pair<TarMember, TarMember>> next_pair(const ByteFile& file, int64_t at,
                                                         int64_t pairs_before) {
  auto data = next_tar_file(file, at);
  if (!data) return std::nullopt;
  auto manifest = next_tar_file(file, data->end());
  if (!manifest) {
    throw files_errors::tar(
        file.name(), data->end(),
        "it has " + std::to_string(pairs_before * 2 + 1) +
            " members, an odd number; Shar has a manifest after each data file");
  }
  return std::pair(std::move(*data), std::move(*manifest));
}

/// Adds the offsets of all pairs; reads all headers.
void add_pairs(const ByteFile& file, OffsetWriter& offsets, const OnBad& on_damage) {
  int64_t end = file.size();
  int64_t at = 0;
  try {
    for (int64_t pairs = 0; const auto pair = next_pair(file, at, pairs); ++pairs) {
      offsets.add(pair->first.header);
      at = pair->second.end();
    }
  } catch (const Error& damage) {
    if (!on_damage || damage.id() != "data/tar") throw;
    on_damage(damage);
    end = std::min(at, file.size());
  }
  offsets.add(end);
  offsets.flush();
}

/// Returns the offsets of all pairs. For very many pairs they are stored in the cache folder if
/// indexes are stored there.
OffsetIndex all_pairs(const ByteFile& file, const OpenOptions& options) {
  constexpr size_t kManyPairs = 20000;
  auto bytes = std::make_shared<std::string>();
  OffsetWriter offsets([&](std::string_view more) { bytes->append(more); });
  bool is_whole = true;
  const OnBad note_damage = [&](const Error& error) {
    is_whole = false;
    options.on_damage(error);
  };
  add_pairs(file, offsets, options.on_damage ? note_damage : OnBad());
  OffsetIndex index(bytes, *bytes);
  const auto* const plain = dynamic_cast<const DiskFile*>(&file);
  const bool keep = options.place == OpenOptions::Place::kCacheFolder && is_whole &&
                    static_cast<size_t>(index.size()) >= kManyPairs;
  if (!keep || plain == nullptr) return index;
  const auto kept =
      write_index(*plain, ".idx", options.place, [&](const auto& append) { append(*bytes); });
  return {kept, kept->bytes()};
}

/// Whether the first and the last pair begin at headers. The pairs between are checked when they
/// are read.
bool begins_members(const DiskFile& file, const OffsetIndex& index) {
  if (index.size() == 0) return false;
  try {
    for (const int64_t row : {int64_t{0}, index.size() - 1}) {
      const int64_t begin = index.begin(row);
      if (begin < 0 || begin > file.size() || !next_tar_file(file, begin)) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

TarIndex::TarIndex(std::shared_ptr<const ByteFile> file) : file_(std::move(file)) {
  int64_t at = 0;
  while (auto member = next_tar_file(*file_, at)) {
    at = member->end();
    by_name_.emplace(member->name, members_.size());
    members_.push_back(std::move(*member));
  }
}

std::shared_ptr<const TarIndex> TarIndex::open(const std::string& source,
                                               const OpenOptions& options) {
  return std::make_shared<TarIndex>(open_bytes(source, options, kExpected));
}

const TarMember* TarIndex::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &members_[found->second];
}

std::string TarIndex::data(const TarMember& member) const {
  return file_->read_text(member.begin, static_cast<size_t>(member.num_bytes));
}

bool TarPair::is_absent() const {
  return has_extension(data.name, ".nodata") || has_extension(manifest.name, ".nometa");
}

std::shared_ptr<const TarPairs> TarPairs::open(const std::string& source,
                                               const OpenOptions& options) {
  auto file = open_bytes(source, options, kExpected);
  std::optional<OffsetIndex> offsets;
  if (const auto* plain = dynamic_cast<const DiskFile*>(file.get())) {
    offsets = find_index(*plain, IndexEnd::kWithinFile,
                         [&](const OffsetIndex& index) { return begins_members(*plain, index); });
  }
  if (!offsets) offsets = all_pairs(*file, options);
  return std::shared_ptr<const TarPairs>(new TarPairs(std::move(file), std::move(*offsets)));
}

TarPair TarPairs::pair(int64_t row) const {
  const int64_t begin = offsets_.begin(row);
  if (begin < 0 || begin > file_->size()) {
    throw files_errors::index(file_->name(), row, "the index points outside of the file");
  }
  auto data = next_tar_file(*file_, begin);
  if (!data) throw files_errors::tar(file_->name(), begin, "there is no member");
  auto manifest = next_tar_file(*file_, data->end());
  if (!manifest) {
    throw files_errors::tar(file_->name(), data->end(),
                            "there is no manifest after '" + data->name + "'");
  }
  if (tar_stem(data->name) != tar_stem(manifest->name)) {
    throw files_errors::tar(file_->name(), manifest->header,
                            "'" + manifest->name + "' is not the manifest of '" + data->name + "'");
  }
  return {std::move(*data), std::move(*manifest), offsets_.end(row)};
}

std::string TarPairs::data(const TarMember& member) const {
  return file_->read_text(member.begin, static_cast<size_t>(member.num_bytes));
}

std::string_view tar_stem(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  const size_t folder = name.rfind('/');
  const size_t first = folder == std::string_view::npos ? 0 : folder + 1;
  const size_t dot = name.rfind('.');
  const bool has_extension = dot != std::string_view::npos && dot > first && dot + 1 < name.size();
  return has_extension ? name.substr(0, dot) : name;
}

void write_tar_index(const std::string& path) {
  const DiskFile file(path, kExpected);
  AtomicFile index(path + ".idx");
  OffsetWriter offsets([&](std::string_view bytes) { index.write(bytes); });
  add_pairs(file, offsets, {});
  index.commit();
}

}  // namespace s2s::files
