#pragma once
// Names of strategies and their options in Lightning, NeMo, PyTorch and DeepSpeed.
// core/docs/guides/scaling.md has the same table.

#include <string>

#include "s2s/config.h"
#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// Our option for another framework's option. An empty `value` keeps the value.
struct OurOption {
  std::string key, value;
};

/// Rows of `trainer.strategy` of other frameworks. Their target is "KEY" or "KEY: VALUE".
ForeignKeys strategy_options();

/// Our option of `trainer.strategy` for `key: value` of another framework; an empty key if there is
/// none.
OurOption our_strategy_option(const std::string& key, const Config& value);

/// Why an option of another framework's strategy has no effect here; "" if it is not listed.
std::string why_without_effect(const std::string& key, const Config& value);

/// The block `{name: ...}` for a strategy's name or class in another framework ("ddp_spawn",
/// "deepspeed_stage_3", "lightning.pytorch.strategies.FSDPStrategy"); null if unknown.
Config our_strategy(const std::string& name);

/// The block to write for an incomplete name ("hsdp": lacks the number of replicas); else "".
std::string complete_strategy(const std::string& name);

}  // namespace s2s::interop
