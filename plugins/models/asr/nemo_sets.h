#pragma once
// Data sets and the optimizer of NeMo's YAML of a recognizer, which are blocks of its model.

#include "s2s/foreign_class.h"

namespace s2s::asr {

/// model.train_ds and model.validation_ds become sets of `data`.
void read_sets(ConfigTranslation& translation);
/// model.optim and its `sched` become model.optimizer and model.lr_scheduler.
void read_optimizer(ConfigTranslation& translation);

}  // namespace s2s::asr
