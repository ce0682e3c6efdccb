#pragma once
// Names that Lightning, NeMo, PyTorch and DeepSpeed use for strategies and their options.
// core/docs/guides/scaling.md has the same table.

#include <string>

#include "s2s/config.h"
#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// The option of s2s for an option of another framework; `value` empty: the value is kept.
struct OurOption {
  std::string key, value;
};

/// The rows of `trainer.strategy` of other frameworks. What they read is "KEY" or "KEY: VALUE".
ForeignKeys strategy_options();

/// The option of `trainer.strategy` that is equivalent to `key: value` of another framework's
/// strategy; an empty key when there is none.
OurOption our_strategy_option(const std::string& key, const Config& value);

/// Why an option of another framework's strategy has no effect here; "" when it is not in the list.
std::string why_without_effect(const std::string& key, const Config& value);

/// The block `{name: ...}` for a strategy's name or class in another framework ("ddp_spawn",
/// "deepspeed_stage_3", "lightning.pytorch.strategies.FSDPStrategy"); null when it is unknown.
Config our_strategy(const std::string& name);

/// The block to write for an incomplete name ("hsdp": the number of replicas is missing); "" for
/// other names.
std::string complete_strategy(const std::string& name);

}  // namespace s2s::interop
