// The keys of engine_file.h as Markdown: s2s-run config keys, and the page of the documentation.

#include <array>

#include "s2s_run/engines/engine_file.h"

namespace s2s::run {
namespace {

std::string here(const EngineKey& row) {
  switch (row.use) {
    case KeyUse::kRead:
      return row.read == nullptr ? std::string("`") + row.says + "`" : row.says;
    case KeyUse::kNoEffect:
      return std::string("no effect: ") + row.says;
    case KeyUse::kOnlyOff:
      return std::string("must be off: ") + row.says;
  }
  return "";
}

struct KeyTable {
  const char* heading;
  EngineKeys keys;
};

}  // namespace

std::string engine_keys_page() {
  const std::array formats = {
      KeyTable{"DeepSpeed", deepspeed_keys()},
      KeyTable{"FSDP", fsdp_keys()},
      KeyTable{"accelerate", accelerate_keys()},
      KeyTable{"The block `distributed`", distributed_keys()},
      KeyTable{"The block `training`", training_keys()},
  };
  std::string page;
  for (const KeyTable& format : formats) {
    page += std::string(page.empty() ? "" : "\n") + "## " + format.heading +
            "\n\n| key | here |\n| --- | --- |\n";
    for (const EngineKey& row : format.keys) {
      page += "| `" + std::string(row.key) + "` | " + here(row) + " |\n";
    }
  }
  return page;
}

}  // namespace s2s::run
