#include "config/run_check.h"

#include "config/config_errors.h"
#include "config/config_tree.h"
#include "config/load_config.h"
#include "config/run_blocks.h"
#include "config/yaml_writer.h"
#include "config_test_support.h"

using s2s::Config;
using s2s::OptionTable;
using s2s::RunCheck;
using s2s::test::error_of;
using s2s::test::yaml;

namespace {

struct Part {
  int64_t num_layers = 2;
  void visit(s2s::OptionVisitor& v) { v("num_layers", num_layers, "layers", s2s::at_least(1)); }
};

/// A part whose defaults depend on a preset.
struct PresetPart : Part {
  std::string preset = "large";
  void visit(s2s::OptionVisitor& v) {
    v("preset", preset, "sizes to begin with");
    Part::visit(v);
  }
};

struct Whole {
  Config llm, codec;
  double weight = 3;
  void visit(s2s::OptionVisitor& v) {
    v("llm", llm, "a language model", "llm");
    v("codec", codec, "a codec");  // a component because of its name
    v("weight", weight, "a weight");
  }
};

struct Source {
  std::string cuts_path;
  int64_t batch_size = 1;
  void visit(s2s::OptionVisitor& v) {
    v("cuts_path", cuts_path, "a file", s2s::required());
    v("batch_size", batch_size, "rows", s2s::at_least(1));
  }
};

/// A source that begins anew at its end.
struct EndlessSource : Source {
  bool repeat = true;
  void visit(s2s::OptionVisitor& v) {
    Source::visit(v);
    v("repeat", repeat, "start over at the end");
  }
};

/// A source that may have sets of its own.
struct FusedSource : Source {
  bool multi_config = false;
  void visit(s2s::OptionVisitor& v) {
    Source::visit(v);
    v("multi_config", multi_config, "keys that are maps are sets");
  }
};

struct DataKeys {
  double frame_length = 0.08;
  void visit(s2s::OptionVisitor& v) { v("frame_length", frame_length, "s"); }
};

OptionTable component(const std::string& kind, const std::string& name, const Config& asked_at,
                      const std::string& path) {
  if (name == "unknown") throw s2s::choice_error(path, asked_at, {"known"});
  if (name == "sized") return s2s::list_options<PresetPart>();
  if (kind == "model") return s2s::list_options<Whole>();
  if (kind == "data" && name == "endless") return s2s::list_options<EndlessSource>();
  if (kind == "data" && name == "fused") return s2s::list_options<FusedSource>();
  if (kind == "data") return s2s::list_options<Source>();
  return s2s::list_options<Part>();
}

RunCheck checked_by(const std::string& text, const s2s::RunSchema& schema) {
  RunCheck check = s2s::resolve_run_config(yaml(text));
  s2s::check_run_config(check, schema);
  return check;
}

RunCheck check(const std::string& text, s2s::RunPurpose purpose = s2s::RunPurpose::kGenerate) {
  s2s::RunSchema schema;
  schema.purpose = purpose;
  schema.blocks["data"] = s2s::list_options<DataKeys>();
  schema.blocks["data.made"] = s2s::list_options<Part>();
  schema.kinds = {"llm", "codec", "model", "data", "optimizer", "schedule"};
  schema.component = component;
  schema.advice["trainer"] = {s2s::advice("max_epochs", "write trainer.max_steps")};
  schema.advice[""] = {s2s::read_as("model.num", "model.num_layers", "2")};
  return checked_by(text, schema);
}

std::string run_findings_of(const std::string& text,
                            s2s::RunPurpose purpose = s2s::RunPurpose::kGenerate) {
  std::string out;
  const RunCheck checked = check(text, purpose);
  for (const s2s::Error& error : checked.findings.errors()) out += error.what() + std::string("\n");
  return out;
}

constexpr const char* kGood =
    "model:\n"
    "  type: duplex\n"
    "  llm: {name: small, num_layers: 3}\n"
    "  codec: {num_codebooks: 4}\n"
    "  optimizer: {name: o, lr_scales: [{params: ^llm, scale: 0.1}]}\n"
    "data:\n"
    "  train_ds: {name: cuts, cuts_path: \"${vars.where}/a\"}\n"
    "  validation_ds:\n"
    "    name: cuts\n"
    "    batch_size: 4\n"
    "    datasets:\n"
    "      one: {cuts_path: b}\n"
    "      two: {cuts_path: c, batch_size: 2}\n"
    "trainer: {max_steps: 10, devices: -1}\n"
    "vars: {where: runs}\n";

}  // namespace

TEST_CASE("a good config has no findings, and is completed with defaults and their origin") {
  CHECK(run_findings_of(kGood) == "");
  const Config config = check(kGood).config;
  CHECK(config.find_path("model.llm.num_layers")->as_int("") == 3);
  CHECK(config.find_path("model.weight")->origin().text() == "default of model:duplex");
  CHECK(config.find_path("model.optimizer.num_layers")->origin().text() ==
        "default of optimizer:o");
  CHECK(config.find_path("model.optimizer.lr_scales.0.scale")->as_double("") == 0.1);
  CHECK(config.find_path("data.frame_length")->origin().text() == "default of data");
  CHECK(config.find_path("data.train_ds.cuts_path")->text() == "runs/a");
  CHECK(config.find_path("trainer.seed")->origin().text() == "default of trainer");
  CHECK(config.find_path("exp_manager.resume_if_exists")->as_bool(""));
}

TEST_CASE("a completed config, written and read again, completes to itself") {
  const Config once = check(kGood).config;
  s2s::YamlStyle style;
  style.resolved = true;
  const std::string text = s2s::write_yaml(once, style);
  Config without_vars = yaml(text);
  without_vars.erase("vars");
  const std::string shorter = s2s::write_yaml(without_vars, style);
  CHECK(run_findings_of(shorter) == "");
  CHECK(s2s::same_value(check(shorter).config, without_vars));
}

TEST_CASE("a validation set inherits the keys of validation_ds and overrides them") {
  const auto sets = s2s::validation_sets(yaml(kGood));
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].name == "one");
  CHECK(s2s::write_yaml_inline(sets[0].node) == "{name: cuts, batch_size: 4, cuts_path: b}");
  CHECK(s2s::write_yaml_inline(sets[1].node) == "{name: cuts, batch_size: 2, cuts_path: c}");
  CHECK(s2s::validation_sets(yaml("{data: {validation_ds: null}}")).empty());
  CHECK(error_of([] {
          s2s::validation_sets(yaml("{data: {validation_ds: {datasets: 3}}}"));
        }).find("[config/type] data.validation_ds.datasets") == 0);
  CHECK(error_of([] {
          s2s::validation_sets(yaml("{data: {validation_ds: {datasets: {a: 3}}}}"));
        }).find("[config/type] data.validation_ds.datasets.a") == 0);
}

TEST_CASE("three mistakes are three findings with their places") {
  const std::string found = run_findings_of(
      "model:\n  type: duplex\n  llm: {name: small, num_layer: 3}\n"
      "trainer:\n  max_steps: ten\n  acumulate_grad_batches: 2\n");
  CHECK(found ==
        "[config/type] trainer.max_steps (test.yaml:5:3): expected an integer, got \"ten\"\n"
        "[config/unknown-key] unknown key 'acumulate_grad_batches' in trainer (test.yaml:6:3); did "
        "you mean 'accumulate_grad_batches'?\n"
        "[config/unknown-key] unknown key 'num_layer' in model.llm (test.yaml:3:22); did you mean "
        "'num_layers'?\n");
}

TEST_CASE("unknown keys are found at the top, in blocks, components and data sets") {
  CHECK(run_findings_of("{model: {type: d}, modle: 1}").find("did you mean 'model'?") !=
        std::string::npos);
  CHECK(run_findings_of("{model: {type: d, wieght: 1}}").find("did you mean 'weight'?") !=
        std::string::npos);
  CHECK(run_findings_of("{model: {type: d}, data: {frame_len: 1}}").find("'frame_length'?") !=
        std::string::npos);
  CHECK(run_findings_of("{model: {type: d}, data: {train_ds: {name: x, cuts_path: y, batch: 1}}}")
            .find("unknown key 'batch' in data.train_ds") != std::string::npos);
  const std::string fused = run_findings_of(
      "{model: {type: d}, data: {train_ds: {name: fused, cuts_path: y, multi_config: true,"
      " talks: {batch: 1}, batch: 1}}}");
  CHECK(fused.find("unknown key 'batch' in data.train_ds") != std::string::npos);
  CHECK(fused.find("unknown key 'talks'") == std::string::npos);
  CHECK(run_findings_of("{model: {type: d, optimizer: {name: o, lr_scales: [{param: x}]}}}")
            .find("model.optimizer.lr_scales.0") != std::string::npos);
}

TEST_CASE("a block of data with options of its own is checked and completed") {
  CHECK(run_findings_of("{model: {type: d}, data: {made: {num_layer: 1}}}")
            .find("unknown key 'num_layer' in data.made") != std::string::npos);
  const RunCheck checked = check("{model: {type: d}, data: {made: {}}}");
  CHECK(checked.findings.empty());
  CHECK(checked.config.find_path("data.made.num_layers")->origin().text() ==
        "default of data.made");
}

TEST_CASE("a key that all validation sets inherit is complained about once") {
  const std::string found = run_findings_of(
      "{model: {type: d}, data: {validation_ds: {name: x, cuts_path: y, batch: 1, datasets: "
      "{a: {}, b: {}, c: {batch_size: 0}}}}}");
  CHECK(std::count(found.begin(), found.end(), '\n') == 2);
  CHECK(found.find("[config/bounds] data.validation_ds.datasets.c.batch_size") !=
        std::string::npos);
}

TEST_CASE("components that are not named or not known are findings") {
  CHECK(run_findings_of("{model: {llm: {name: x}}}")
            .find("[config/missing] model.type is required") == 0);
  CHECK(run_findings_of("{model: {type: d, llm: {num_layers: 3}}}")
            .find("[config/missing] model.llm.name is required") == 0);
  CHECK(run_findings_of("{model: {type: d, llm: small}}")
            .find("expected a map with the llm's name, got \"small\"") != std::string::npos);
  CHECK(run_findings_of("{model: {type: d, llm: {name: unknown}}}").find("[config/choice]") == 0);
  CHECK(run_findings_of("{model: {type: unknown}}").find("[config/choice] model.type") == 0);
  CHECK(run_findings_of("{model: 3}").find("[config/type] model") == 0);
  CHECK(run_findings_of("{trainer: []}").find("[config/type] trainer") == 0);
}

TEST_CASE("interpolations that fail are findings beside the others, and only once") {
  const std::string found = run_findings_of(
      "model: {type: d, weight: \"${trainer.max_step}\"}\n"
      "trainer: {max_steps: \"${model.wight}\", log_every_n_steps: \"${model.weight}\", sed: 1}\n");
  CHECK(std::count(found.begin(), found.end(), '\n') == 3);
  CHECK(found.find("did you mean 'max_steps' instead of 'max_step'?") != std::string::npos);
  CHECK(found.find("did you mean 'weight' instead of 'wight'?") != std::string::npos);
  CHECK(found.find("did you mean 'seed'?") != std::string::npos);
}

TEST_CASE("a circle of interpolations is one finding") {
  const std::string found =
      run_findings_of("model: {type: d}\nv: {a: \"${v.b}\", b: \"${v.c}\", c: \"${v.a}\"}\n");
  CHECK(std::count(found.begin(), found.end(), '\n') == 1);
  CHECK(found.find("[config/interpolation-cycle]") == 0);
}

TEST_CASE("the processes of a run are checked with the rest") {
  const std::string found = run_findings_of(
      "model: {type: d}\ntrainer: {devices: many, communicator: {timeot_s: 3}, num_nodes: 0}\n");
  CHECK(found.find("[config/type] trainer.devices") != std::string::npos);
  CHECK(found.find("-1 or auto") != std::string::npos);
  CHECK(found.find("did you mean 'timeout_s'?") != std::string::npos);
  CHECK(found.find("trainer.num_nodes") != std::string::npos);
  for (const char* const devices : {"auto", "-1", "8"}) {
    const std::string good = std::string("model: {type: d}\ntrainer: {devices: ") + devices +
                             ", num_nodes: 2, communicator: {timeout_s: 3}}\n";
    CHECK(run_findings_of(good) == "");
  }
}

TEST_CASE("what to write instead of a foreign key depends on its place and its value") {
  const std::string found = run_findings_of(
      "{model: {type: d, num: 2}, trainer: {max_epochs: 3}, exp_manager: {max_epochs: 3}}");
  const size_t advised = found.find("write trainer.max_steps");
  CHECK(advised != std::string::npos);
  CHECK(found.find("write trainer.max_steps", advised + 1) == std::string::npos);
  CHECK(found.find("write model.num_layers") != std::string::npos);
  CHECK(run_findings_of("{model: {type: d, num: 3}}").find("write model.num_layers") ==
        std::string::npos);
}

TEST_CASE("as JSON, values have their types and every leaf its origin") {
  const Config config = yaml("a: {b: 1, c: [x, 2.5, true, ~, '3', .inf]}\nd: {}\n");
  CHECK(s2s::config_json(config).dump() ==
        R"({"a":{"b":1,"c":["x",2.5,true,null,"3",".inf"]},"d":{}})");
  const auto origins = s2s::origins_json(config);
  CHECK(origins["a.b"] == "test.yaml:1:5");
  CHECK(origins["a.c.1"] == "test.yaml:1:18");
  CHECK(origins["d"] == "test.yaml:2:1");
}

TEST_CASE("what is run holds what was written, and no block that only gave values") {
  const Config written = check(kGood).written;
  CHECK(written.find("vars") == nullptr);
  CHECK(written.find_path("data.train_ds.cuts_path")->text() == "runs/a");
  CHECK(written.find_path("trainer.seed") == nullptr);  // a default is the component's to give
  CHECK(run_findings_of(s2s::write_yaml(written)) == "");
}

TEST_CASE("defaults that a preset changes are not shown, and that is said") {
  const RunCheck other = check("{model: {type: d, llm: {name: sized, preset: tiny}}}");
  CHECK(other.findings.empty());
  CHECK(other.config.find_path("model.llm.num_layers") == nullptr);
  CHECK(other.notes.all() ==
        std::vector<std::string>{"model.llm: missing keys are taken from preset tiny, not from the "
                                 "defaults of llm:sized"});
  const RunCheck same = check("{model: {type: d, llm: {name: sized, preset: large}}}");
  CHECK(same.config.find_path("model.llm.num_layers")->as_int("") == 2);
  CHECK(same.notes.all().empty());
  CHECK(run_findings_of("{model: {type: d, llm: {name: sized, preset: tiny, num_layer: 1}}}")
            .find("did you mean 'num_layers'?") != std::string::npos);
}

TEST_CASE("a validation set of a source that can repeat ends, and the config shows it") {
  const std::string sets =
      "{model: {type: d}, data: {validation_ds: {cuts_path: x, datasets: {a: {name: endless}, b: "
      "{name: cuts}, c: {name: endless, repeat: false}}}}}";
  CHECK(run_findings_of(sets) == "");
  const RunCheck checked = check(sets);
  const std::string path = "data.validation_ds.datasets.";
  const Config& shown = *checked.config.find_path(path + "a.repeat");
  CHECK_FALSE(shown.as_bool(""));
  CHECK(shown.origin().text() == "default of validation sets");
  CHECK_FALSE(checked.written.find_path(path + "a.repeat")->as_bool(""));
  CHECK(checked.config.find_path(path + "b.repeat") == nullptr);
  CHECK(checked.written.find_path(path + "b.repeat") == nullptr);
  CHECK(checked.written.find_path(path + "c.repeat")->origin().line == 1);
}

TEST_CASE("a validation set that repeats, or a source that cannot, is a finding") {
  CHECK(run_findings_of("{model: {type: d}, data: {validation_ds: {name: endless, cuts_path: x, "
                        "repeat: true, datasets: {a: {}}}}}")
            .find("[config/validation-repeat] data.validation_ds.datasets.a.repeat "
                  "(test.yaml:1:") == 0);
  CHECK(run_findings_of("{model: {type: d}, data: {validation_ds: {name: cuts, cuts_path: x, "
                        "repeat: false, datasets: {a: {}}}}}")
            .find("[config/unknown-key] unknown key 'repeat' in data.validation_ds.datasets.a") ==
        0);
}

TEST_CASE("keys beside a foreign config are not read, hence findings") {
  CHECK(run_findings_of("{model: {type: d, llm: {name: small, translate_from: {a: 1}}}}") == "");
  CHECK(run_findings_of(
            "{model: {type: d, llm: {name: small, translate_from: {a: 1}, nun_layers: 2}}}")
            .find("[config/unknown-key] unknown key 'nun_layers' in model.llm") == 0);
}

TEST_CASE("parts without findings are those that may be built") {
  const auto buildable = [](const std::string& text) { return check(text).buildable; };
  CHECK(buildable("{model: {type: d, optimizer: {name: o}, lr_scheduler: {name: s}}, "
                  "trainer: {seed: 1}}") ==
        std::vector<std::string>{"optimizer", "schedule", "model"});
  CHECK(buildable("{model: {type: d, wieght: 1, optimizer: {name: o, a: 1}, lr_scheduler: {name: "
                  "s, num_layers: '${v.x}'}}, v: {x: '${no}'}}")
            .empty());
  CHECK(buildable("{model: {type: d}, trainer: {sed: 1}}") == std::vector<std::string>{"model"});
}

TEST_CASE("findings of the configuration come first, so that theirs is the exit code") {
  s2s::RunSchema schema;
  schema.component = [](const std::string&, const std::string&, const Config&,
                        const std::string&) -> OptionTable {
    throw s2s::Error(s2s::ExitCode::kPlugin, "plugin/unknown", "no such name");
  };
  const RunCheck checked =
      checked_by("{model: {type: d, tokenizer: {name: t}}, exp_manager: {nam: x}}", schema);
  REQUIRE(checked.findings.errors().size() == 2);  // the same finding twice is one
  CHECK(checked.findings.errors()[0].id() == "config/unknown-key");
  CHECK(checked.findings.errors()[1].id() == "plugin/unknown");
}

TEST_CASE("a plan takes a language model alone and a mesh without a strategy") {
  constexpr auto kPlan = s2s::RunPurpose::kPlan;
  CHECK(run_findings_of(
            "{model: {llm: {name: small}}, trainer: {strategy: {tensor_parallel_size: 2}}}",
            kPlan) == "");
  CHECK(run_findings_of("{model: {llm: {name: small, hiden: 2}}}", kPlan)
            .find("[config/unknown-key] unknown key 'hiden' in model.llm") == 0);
  CHECK(run_findings_of("{model: {llm: {name: small}}, trainer: {strategy: {tensor_parallel: 2}}}",
                        kPlan)
            .find("did you mean") != std::string::npos);
  CHECK(run_findings_of("{model: {llm: {name: small}, codec: {name: c}}}", kPlan)
            .find("[config/missing] model.type is required") == 0);
  CHECK(run_findings_of("{model: {llm: {name: small}}}").find("[config/missing] model.type") == 0);
}
