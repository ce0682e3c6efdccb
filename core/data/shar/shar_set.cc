#include "shar/shar_set.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fnv.h"
#include "s2s/error.h"
#include "shar/open_shard.h"

namespace s2s::data {
namespace {

/// Whether making the index of a shard of cuts takes long.
bool is_large(const std::string& cuts_path) {
  constexpr uintmax_t kLargeBytes = uintmax_t{8} << 20;
  std::error_code unknown;  // for a command
  const uintmax_t size = std::filesystem::file_size(cuts_path, unknown);
  return !unknown && size > kLargeBytes;
}

files::OpenOptions shared_options(files::OpenOptions options, const SharShards& shards) {
  if (!options.cache) options.cache = std::make_shared<files::ByteCache>();
  // Many small index files on the disk cost more than making the indexes again.
  constexpr size_t kFewShards = 8;
  if (options.place == files::OpenOptions::Place::kBeside) {
    const bool keep = shards.cuts.size() <= kFewShards || is_large(shards.cuts.front());
    options.place =
        keep ? files::OpenOptions::Place::kCacheFolder : files::OpenOptions::Place::kMemory;
  }
  return options;
}

}  // namespace

SharSet::SharSet(SharShards shards, files::OpenOptions options, size_t max_open_shards)
    : shards_(std::move(shards)),
      options_(shared_options(std::move(options), shards_)),
      open_(std::make_unique<OpenShards>(max_open_shards)) {}

SharSet::~SharSet() = default;

std::shared_ptr<const OpenShard> SharSet::open(int64_t shard) const {
  const auto i = static_cast<size_t>(shard);
  S2S_ASSERT(i < shards_.cuts.size(), "the caller knows the number of shards");
  return open_->get(shard, [&] {
    std::vector<std::pair<std::string, std::string>> fields;
    for (const auto& [name, paths] : shards_.fields) fields.emplace_back(name, paths[i]);
    return std::make_shared<const OpenShard>(shards_.cuts[i], fields, options_);
  });
}

int64_t SharSet::num_cuts(int64_t shard) const { return open(shard)->num_cuts(); }

int64_t SharSet::num_cuts() const {
  int64_t total = 0;
  for (int64_t shard = 0; shard < num_shards(); ++shard) total += num_cuts(shard);
  return total;
}

Cut SharSet::cut(int64_t shard, int64_t row, int64_t epoch) const {
  Cut cut = open(shard)->cut(row);
  const std::string& origin = shards_.cuts[static_cast<size_t>(shard)];
  set_shar_field(cut, "shard_origin", JsonText{nlohmann::json(origin).dump()});
  set_shar_field(cut, "shar_epoch", JsonText{std::to_string(epoch)});
  return cut;
}

uint64_t SharSet::fingerprint() const {
  uint64_t hash = kFnvStart;
  for (const std::string& path : shards_.cuts) {
    std::error_code ignored;
    const auto size = std::filesystem::file_size(path, ignored);
    hash = fnv1a(std::filesystem::path(path).filename().string(), hash);
    if (!ignored) hash = fnv1a(std::to_string(size), hash);
  }
  return hash;
}

}  // namespace s2s::data
