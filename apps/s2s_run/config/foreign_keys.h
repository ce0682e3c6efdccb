#pragma once
// What Lightning, NeMo, PyTorch, DeepSpeed and accelerate call the things that are configured here.
// core/docs/guides/scaling.md shows the same table to people.

#include <string>
#include <vector>

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::run {

/// Our option for a neighbor's one; `value` empty: the value is kept.
struct OurOption {
  std::string key, value;
};

/// The option of `trainer.strategy` that says the same as `key: value` of a neighbor's strategy;
/// an empty key when there is none.
OurOption our_strategy_option(const std::string& key, const Config& value);

/// Why a neighbor's option of a strategy changes nothing here; "" when it is none of these.
std::string why_without_effect(const std::string& key, const Config& value);

/// The block `{name: ...}` for a strategy's name or class as a neighbor writes it ("ddp_spawn",
/// "deepspeed_stage_3", "lightning.pytorch.strategies.FSDPStrategy"); null when it is none.
Config our_strategy(const std::string& name);

/// The block to write for a name that does not say enough ("hsdp": how many replicas?); "" for
/// others.
std::string complete_strategy(const std::string& name);

/// What to write instead of `key`, which is unknown at `path` ("trainer.strategy", "trainer", ""
/// for the top); "" when nobody calls anything so.
std::string instead_of(const std::string& path, const std::string& key, const Config& value);

/// Rewrites `trainer.strategy` where it is a text, names a class (`_target_`) or a neighbor's
/// strategy, and removes options without effect; a note for each.
/// Errors: [config/strategy], added to `findings`.
void translate_strategy(Config& config, Findings& findings, ConfigNotes& notes);

/// Names `model.llm` where only its path says which family it is: the longest of `families` that
/// begins config.json's model_type.
void name_language_model(Config& config, const std::vector<std::string>& families,
                         Findings& findings, ConfigNotes& notes);

/// The same for `model.optimizer` and `model.lr_scheduler` where they name a class, and for a
/// scorer that is a name alone. A model without a type that has keys of NeMo's duplex model is read
/// as that. Errors: [config/missing] for its type, added to `findings`.
void translate_parts(Config& config, Findings& findings, ConfigNotes& notes);

/// Names the data sources that say what they read and not by which source: NeMo has one.
void name_data_sources(Config& config, ConfigNotes& notes);

}  // namespace s2s::run
