// The tables of keys as Markdown: s2s-run config keys, and the page of the documentation.

#include <array>

#include "accelerate/fsdp_keys.h"
#include "deepspeed/deepspeed_values.h"
#include "lightning/lightning_keys.h"
#include "lightning/strategy_names.h"
#include "nemo/nemo_keys.h"
#include "nemo/run_keys.h"
#include "translate/recipe_blocks.h"
#include "translate/translate.h"

namespace s2s::interop {
namespace {

std::string here(const ForeignKey& row) {
  switch (row.use) {
    case KeyUse::kRead:
      return row.read == nullptr ? std::string("`") + row.says + "`" : row.says;
    case KeyUse::kNoEffect:
      return *row.says == '\0' ? "no effect" : std::string("no effect: ") + row.says;
    case KeyUse::kOnlyOff:
      return std::string("must be off: ") + row.says;
    case KeyUse::kAdvice:
      return row.says;
  }
  return "";
}

/// "`key`", or with the values that the row is about "`key: value`".
std::string theirs(const ForeignKey& row) {
  std::string text(row.key);
  std::string values(row.value);
  for (size_t bar = values.find('|'); bar != std::string::npos; bar = values.find('|', bar + 4)) {
    values.replace(bar, 1, " or ");
  }
  return "`" + text + (values.empty() ? "" : ": " + values) + "`";
}

struct KeyTable {
  const char* heading;
  ForeignKeys keys;
};

}  // namespace

std::string foreign_keys_page() {
  const std::array formats = {
      KeyTable{"DeepSpeed", deepspeed_keys()},
      KeyTable{"FSDP", fsdp_keys()},
      KeyTable{"accelerate", accelerate_keys()},
      KeyTable{"The block `distributed`", distributed_keys()},
      KeyTable{"The block `training`", training_keys()},
      KeyTable{"`trainer.strategy` of Lightning, NeMo and PyTorch", strategy_options()},
      KeyTable{"Lightning's `trainer`", lightning_keys()},
      KeyTable{"NeMo's `trainer` and `exp_manager`", nemo_run_keys()},
      KeyTable{"NeMo's `model`", nemo_model_keys()},
  };
  std::string page;
  for (const KeyTable& format : formats) {
    page += std::string(page.empty() ? "" : "\n") + "## " + format.heading +
            "\n\n| key | here |\n| --- | --- |\n";
    for (const ForeignKey& row : format.keys) {
      page += "| " + theirs(row) + " | " + here(row) + " |\n";
    }
  }
  return page;
}

}  // namespace s2s::interop
