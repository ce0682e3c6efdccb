#include "streams/source_lhotse.h"

#include <utility>

#include "shar/shar_set.h"
#include "streams/manifest_stream.h"
#include "streams/shar_stream.h"

namespace s2s::data {
namespace {

SharShards shards_of(const InputFiles& files, const InputAttributes& attributes, bool only_cuts) {
  if (files.directory.empty()) {
    return {files.manifests, only_cuts ? decltype(SharShards::fields){} : files.fields};
  }
  const bool is_lenient = attributes.on_bad != nullptr;
  if (only_cuts) return list_shar(files.directory, std::vector<std::string>{}, is_lenient);
  return list_shar(files.directory, {}, is_lenient);
}

}  // namespace

StreamPtr open_manifests(const std::vector<std::string>& paths, const InputAttributes& attributes) {
  ManifestStreamOptions options;
  options.paths = paths;
  options.on_bad = attributes.on_bad;
  return std::make_unique<ManifestStream>(std::move(options));
}

StreamPtr open_shar(const InputFiles& files, const InputAttributes& attributes) {
  SharStreamOptions options;
  files::OpenOptions open;
  open.on_damage = attributes.on_bad;
  options.set =
      std::make_shared<const SharSet>(shards_of(files, attributes, attributes.metadata_only), open);
  options.on_bad = attributes.on_bad;
  options.shuffle_shards = !attributes.keep_order;
  options.seed = attributes.shard_seed;
  options.slice_length = attributes.slice_length;
  return std::make_unique<SharStream>(std::move(options));
}

int64_t num_shar_cuts(const InputFiles& files, const InputAttributes& attributes) {
  files::OpenOptions open;
  if (attributes.on_bad) open.on_damage = [](const Error&) {};  // whoever reads them tells
  return SharSet(shards_of(files, attributes, true), open).num_cuts();
}

}  // namespace s2s::data
