#include "config/run_values.h"

#include "config/config_errors.h"
#include "config/parameter_pattern.h"
#include "config/run_blocks.h"
#include "config_test_support.h"

using s2s::Findings;
using s2s::RunPurpose;
using s2s::test::error_of;
using s2s::test::yaml;

namespace {

using Texts = std::vector<std::string>;

Texts texts_of(const Findings& findings) {
  Texts texts;
  for (const s2s::Error& error : findings.errors()) texts.emplace_back(error.what());
  return texts;
}

Texts needs(const std::string& text, RunPurpose purpose) {
  Findings findings;
  s2s::check_needs(yaml(text), purpose, findings);
  return texts_of(findings);
}

Texts values(const std::string& text) {
  Findings findings;
  s2s::check_run_values(yaml(text), findings);
  return texts_of(findings);
}

}  // namespace

TEST_CASE("training needs a strategy, an optimizer and data") {
  CHECK(needs("model: {type: d}\ntrainer: {strategy: null}\n", RunPurpose::kTrain) ==
        Texts{"[config/missing] trainer.strategy.name is required in the block at test.yaml:2:1: "
              "the parallel strategy; add it to the file or give trainer.strategy.name=VALUE on "
              "the command line",
              "[config/missing] model.optimizer.name is required in the block at test.yaml:1:1: "
              "the optimizer; add it to the file or give model.optimizer.name=VALUE on the command "
              "line",
              "[config/no-datasets] data.train_ds is missing or empty; expected at least one data "
              "set, for example data.train_ds: {name: ...}"});
  CHECK(needs("{}", RunPurpose::kGenerate).empty());
  CHECK(needs("{}", RunPurpose::kPlan).empty());
}

TEST_CASE("validating needs validation sets") {
  const Texts missing = {
      "[config/no-datasets] data.validation_ds.datasets is missing or empty; expected at least one "
      "data set, for example data.validation_ds.datasets.NAME: {name: ...}"};
  CHECK(needs("{}", RunPurpose::kValidate) == missing);
  CHECK(needs("{data: {validation_ds: {datasets: {}}}}", RunPurpose::kValidate) == missing);
  CHECK(needs("{data: {validation_ds: {datasets: {a: {}}}}}", RunPurpose::kValidate).empty());
}

TEST_CASE("durations and patterns are checked where they are") {
  CHECK(values("exp_manager: {max_time_per_run: 4h}\n") ==
        Texts{"[config/duration] exp_manager.max_time_per_run (test.yaml:1:15): expected a "
              "duration DD:HH:MM:SS, as 00:03:50:00, got \"4h\""});
  const Texts patterns = values(
      "model:\n  freeze_params: ['^a', '(']\n  prevent_freeze_params: ['[']\n"
      "  optimizer: {lr_scales: [{params: '*x'}, {params: '^y'}]}\n");
  REQUIRE(patterns.size() == 3);
  CHECK(patterns[0].find("[config/pattern] model.freeze_params.1 (test.yaml:2:25): \"(\" is not a "
                         "valid regular expression: ") == 0);
  CHECK(patterns[1].find("[config/pattern] model.prevent_freeze_params.0") == 0);
  CHECK(patterns[2].find("[config/pattern] model.optimizer.lr_scales.0.params") == 0);
  CHECK(values("{model: {freeze_params: ['${a(}'], optimizer: 3}, exp_manager: 4}").empty());
}

TEST_CASE("a duration counts days, hours, minutes and seconds") {
  CHECK(s2s::duration_s("a", yaml("'01:02:03:04'")) == ((24 + 2) * 60 + 3) * 60 + 4);
  s2s::ExpManagerBlock block;
  CHECK(block.max_time_s() == 0);
  block.max_time_per_run = "00:00:01:00";
  CHECK(block.max_time_s() == 60);
  for (const char* text : {"1:2:3", "1:2:3:4:5", "00:00:-1:00", "1:2:3:4x", ""}) {
    block.max_time_per_run = text;
    CHECK(error_of([&] { block.max_time_s(); }).find("[config/duration]") == 0);
  }
}

TEST_CASE("the run's folder is the named one, or the name inside exp_dir") {
  s2s::ExpManagerBlock block;
  CHECK(block.run_folder() == "runs/run");
  block.exp_dir = "here";
  block.name = "one";
  CHECK(block.run_folder() == "here/one");
  block.explicit_log_dir = "there";
  CHECK(block.run_folder() == "there");
}

TEST_CASE("a parameter pattern is matched at the start of names") {
  const s2s::ParameterPattern pattern(yaml("'llm\\.layers\\.[01]\\.'"), "path");
  CHECK(pattern.matches("llm.layers.0.norm"));
  CHECK_FALSE(pattern.matches("x.llm.layers.0.norm"));
  CHECK_FALSE(pattern.matches("llm.layers.2.norm"));
}

TEST_CASE("every ??? is found once, in lists, too, unless something is said of it already") {
  const s2s::Config config = yaml(
      "model:\n  llm:\n    num_layers: ???\n"
      "data:\n  train_ds:\n    input_cfg:\n    - type: shar\n      path: ???\n    - ???\n"
      "trainer:\n  max_steps: ???\n");
  s2s::Findings findings;
  findings.add(
      s2s::missing_value_error("trainer.max_steps", *config.find_path("trainer.max_steps")));
  s2s::check_missing(config, findings);
  std::vector<std::string> found;
  for (const s2s::Error& error : findings.errors()) {
    found.push_back(error.message().substr(0, error.message().find(' ')));
  }
  CHECK(found == std::vector<std::string>{"trainer.max_steps", "model.llm.num_layers",
                                          "data.train_ds.input_cfg.0.path",
                                          "data.train_ds.input_cfg.1"});
}

TEST_CASE(
    "numbers beyond all bounds and folders without a name are errors that say what is expected") {
  CHECK(error_of([] {
          yaml("99999999999999999999").as_int("trainer.max_steps");
        }).find("write a number of at most 9223372036854775807") != std::string::npos);
  const auto found = values("{exp_manager: {explicit_log_dir: ''}}");
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("[config/type] exp_manager.explicit_log_dir (test.yaml:1:16): expected the "
                      "name of a folder") == 0);
}

TEST_CASE("the folder of a run has no slash at its end") {
  s2s::ExpManagerBlock block;
  CHECK(block.run_folder() == "runs/run");
  block.exp_dir = "results//";
  CHECK(block.run_folder() == "results/run");
  block.explicit_log_dir = "s2s_results/";
  CHECK(block.run_folder() == "s2s_results");
  block.explicit_log_dir = "/";
  CHECK(block.run_folder() == "/");
}

TEST_CASE("a validation set without a name has that of the training set") {
  const auto sets = s2s::validation_sets(
      yaml("{data: {train_ds: {name: text}, validation_ds: {datasets: {a: {path: x}, b: {name: "
           "cuts}}}}}"));
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].node.find("name")->text() == "text");
  CHECK(sets[0].node.find("path")->text() == "x");
  CHECK(sets[1].node.find("name")->text() == "cuts");
}
