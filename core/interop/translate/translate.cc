#include "translate/translate.h"

#include "hf/hf.h"
#include "lightning/lightning.h"
#include "lightning/lightning_keys.h"
#include "nemo/nemo_model.h"
#include "nemo/run_keys.h"
#include "s2s/registry.h"
#include "translate/recipe_blocks.h"

namespace s2s::interop {

void translate_config(ConfigTranslation& translation) {
  Config& config = translation.config;
  Findings& findings = translation.findings;
  ConfigNotes& notes = translation.notes;
  translation.take(nemo_run_keys());
  translation.take(lightning_keys());
  translate_recipe_blocks(config, findings, notes);
  translate_strategy_file(config, findings, notes);
  translate_strategy(config, findings, notes);
  translate_nemo_model(translation);
  translate_parts(config, findings, notes);
  complete_lora(config, findings, notes);
  translate_epochs(config, findings, notes);
  translate_loggers(config, findings, notes);
  translate_profile(config, findings, notes);
  name_data_sources(config, notes);
  if (translation.registries == nullptr) return;
  name_language_model(config, translation.registries->names<Backbone>(), findings, notes);
}

}  // namespace s2s::interop
