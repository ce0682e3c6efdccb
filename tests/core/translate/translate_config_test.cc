#include <doctest/doctest.h>

#include "config/config_notes.h"
#include "config/config_tree.h"
#include "config/yaml_reader.h"
#include "lightning/lightning_keys.h"
#include "nemo/run_keys.h"
#include "translate/advice.h"
#include "translate/translate.h"

using s2s::Config;
using s2s::ConfigNotes;
using s2s::ConfigTranslation;
using s2s::Findings;

namespace {

struct Translated {
  Config config;
  Findings findings;
  ConfigNotes notes;
};

/// Without plugins: what needs none.
Translated translated(const std::string& text) {
  Translated out;
  out.config = s2s::parse_yaml(text, "test.yaml");
  ConfigTranslation translation(out.config, out.findings, out.notes);
  s2s::interop::translate_config(translation);
  return out;
}

}  // namespace

TEST_CASE("every key without effect is removed with a note") {
  Config config = Config::map();
  size_t count = 0;
  for (const s2s::ForeignKeys rows :
       {s2s::interop::nemo_run_keys(), s2s::interop::lightning_keys()}) {
    for (const s2s::ForeignKey& row : rows) {
      CHECK(row.use == s2s::KeyUse::kNoEffect);
      CHECK(std::string(row.says) != "");
      const std::string value(row.value.substr(0, row.value.find('|')));
      if (config.find_path(row.key) != nullptr) continue;
      s2s::at_path(config, std::string(row.key)) =
          s2s::parse_yaml(value.empty() ? "1" : value, "test.yaml");
      ++count;
    }
  }
  Findings findings;
  ConfigNotes notes;
  ConfigTranslation translation(config, findings, notes);
  s2s::interop::translate_config(translation);
  CHECK(findings.empty());
  CHECK(notes.without_effect.size() == count);
  REQUIRE(notes.brief().size() == 1);
  CHECK(notes.brief()[0].find(std::to_string(count) +
                              " keys are ignored ('s2s-run config check' explains why): "
                              "trainer.logger, trainer.enable_checkpointing, ") == 0);
}

TEST_CASE("defaults of Lightning are without effect, other values of their keys stay") {
  const auto notes_of = [](const std::string& trainer) {
    return translated("trainer: {" + trainer + "}\n").notes.without_effect.size();
  };
  CHECK(notes_of("check_val_every_n_epoch: 1, gradient_clip_algorithm: norm, profiler: null, "
                 "callbacks: null, plugins: [], overfit_batches: 0.0, fast_dev_run: False, "
                 "min_epochs: null, max_epochs: null, precision: null, tpu_cores: 0") == 11);
  for (const char* const other : {"check_val_every_n_epoch: 2", "gradient_clip_algorithm: value",
                                  "profiler: simple", "callbacks: [1]", "overfit_batches: 0.1"}) {
    const Translated out = translated(std::string("trainer: {") + other + "}\n");
    CHECK(out.notes.without_effect.empty());
    CHECK(out.config.find("trainer")->entries().size() == 1);
  }
  CHECK(translated("trainer: {logger: false}").notes.all().at(0) ==
        "ignored: trainer.logger (test.yaml:1:11): metrics.jsonl always contains all values");
}

TEST_CASE("a strategy of Lightning becomes ours, with its options") {
  const Translated out = translated(
      "trainer: {strategy: {_target_: lightning.pytorch.strategies.FSDPStrategy, "
      "cpu_offload: true, sharding_strategy: FULL_SHARD, forward_prefetch: true}}");
  const Config& strategy = *out.config.find_path("trainer.strategy");
  CHECK(strategy.find("name")->text() == "fsdp");
  CHECK(strategy.find("offload")->text() == "params");
  CHECK(strategy.find("zero_stage")->text() == "3");
  CHECK(strategy.find("forward_prefetch") == nullptr);
  CHECK(out.findings.empty());
}

TEST_CASE("a key that is moved gives way to ours") {
  Config config = s2s::parse_yaml("{a: {x: 1}, b: {y: 2}}", "test.yaml");
  Findings findings;
  ConfigNotes notes;
  ConfigTranslation translation(config, findings, notes);
  translation.move("a.x", "b.y");
  CHECK(config.find_path("a.x") == nullptr);
  CHECK(config.find_path("b.y")->text() == "2");
  CHECK(notes.without_effect == std::vector<std::string>{"a.x (test.yaml:1:6): b.y is written"});
  translation.move("b.y", "c.z");
  CHECK(config.find_path("c.z")->text() == "2");
  CHECK(notes.others == std::vector<std::string>{"b.y (test.yaml:1:17): read as c.z"});
}

TEST_CASE("advice is about keys that are unknown here") {
  const auto rows = s2s::interop::advised_keys();
  CHECK(rows.at("").size() > 80);
  CHECK_FALSE(rows.at("trainer.strategy").empty());
}
