#include "stream/source_lhotse.h"

#include <utility>

#include "shar/shar_set.h"
#include "stream/manifest_stream.h"
#include "stream/shar_stream.h"

namespace s2s::data {
namespace {

SharShards shards_of(const InputFiles& files, bool only_cuts) {
  if (files.directory.empty()) {
    return {files.manifests, only_cuts ? decltype(SharShards::fields){} : files.fields};
  }
  if (only_cuts) return list_shar(files.directory, std::vector<std::string>{});
  return list_shar(files.directory);
}

}  // namespace

StreamPtr open_manifests(const std::vector<std::string>& paths) {
  ManifestStreamOptions options;
  options.paths = paths;
  return std::make_unique<ManifestStream>(std::move(options));
}

StreamPtr open_shar(const InputFiles& files, const InputAttributes& attributes) {
  SharStreamOptions options;
  options.set = std::make_shared<const SharSet>(shards_of(files, attributes.metadata_only));
  options.shuffle_shards = !attributes.keep_order;
  options.seed = attributes.shard_seed;
  options.slice_length = attributes.slice_length;
  return std::make_unique<SharStream>(std::move(options));
}

int64_t num_shar_cuts(const InputFiles& files) {
  return SharSet(shards_of(files, true)).num_cuts();
}

}  // namespace s2s::data
