// Any bytes as a checkpoint's index.json, as they are and with the checksum made again, as somebody
// would who means harm: refused with a message, or an index whose numbers can be computed with.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/foreign_json.h"
#include "s2s/error.h"
#include "weights/block_checksums.h"
#include "weights/checkpoint_index.h"

namespace {

using Json = nlohmann::ordered_json;

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

void check(const std::string& text) {
  try {
    const s2s::CheckpointIndex index = s2s::parse_checkpoint_index("fuzz", text);
    for (const auto& [name, group] : index.groups) {
      for (const auto& [tensor, entry] : group) {
        expect(s2s::count_elements(entry.sizes) >= 0);
        for (const s2s::StoredShard& shard : entry.shards) expect(index.files.count(shard.file));
        s2s::tiling_fault(entry);
      }
    }
    const std::string again = s2s::format_checkpoint_index(index);
    expect(s2s::format_checkpoint_index(s2s::parse_checkpoint_index("again", again)) == again);
  } catch (const s2s::Error&) {  // what a user would read
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  Json json = s2s::try_parse_foreign_json<Json>(text);
  if (!json.is_object()) return 0;
  json.erase("checksum");
  const std::string rest = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  json["checksum"] = s2s::checksum_of(rest.data(), rest.size());
  check(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return 0;
}
