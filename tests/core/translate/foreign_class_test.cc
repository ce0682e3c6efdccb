// A model of somebody else brings the classes of NeMo that it reads and writes.

#include "s2s/foreign_class.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "config/config_notes.h"
#include "config/yaml_reader.h"
#include "nemo/nemo_class.h"
#include "s2s/kinds/model.h"
#include "s2s/registry.h"
#include "translate/translate.h"
#include "weights/safetensors.h"

using s2s::Config;
using s2s::ConfigTranslation;
using s2s::ForeignClass;

namespace {

void read_acme(ConfigTranslation& translation) {
  translation.move("model.whisper_size", "model.width");
}

Config write_acme(const s2s::ForeignExport& exported) {
  Config out = Config::map();
  out["whisper_size"] = *exported.config.find_path("model.width");
  return out;
}

std::vector<ForeignClass> acme_classes() {
  return {{.name = "AcmeModel",
           .marks = {{"whisper_size", s2s::MarkWeight::kOwn}},
           .tensors = {{{"acme_encoder."}, {"llm."}}},
           .read = read_acme,
           .write = write_acme},
          {.name = "AcmeDraft", .is_read = false}};
}

struct Acme {
  Acme() {
    s2s::Component<s2s::Model> model;
    model.name = "acme.model";
    model.foreign = acme_classes;
    registries.of<s2s::Model>().add(model);
    model.name = "plain";
    model.foreign = nullptr;
    registries.of<s2s::Model>().add(model);
  }

  Config read(const std::string& text) {
    Config config = s2s::parse_yaml(text, "acme.yaml");
    ConfigTranslation translation(config, findings, notes, &registries);
    s2s::interop::translate_config(translation);
    return config;
  }

  s2s::Registries registries;
  s2s::Findings findings;
  s2s::ConfigNotes notes;
};

}  // namespace

TEST_CASE("a stranger's class is read by its name and by its keys") {
  for (const char* const text :
       {"model: {_target_: acme.models.AcmeModel, whisper_size: 8}", "model: {whisper_size: 8}"}) {
    CAPTURE(text);
    Acme acme;
    const Config config = acme.read(text);
    CHECK(acme.findings.empty());
    CHECK(config.find_path("model.type")->text() == "acme.model");
    CHECK(config.find_path("model.width")->text() == "8");
    CHECK(config.find_path("model.whisper_size") == nullptr);
    CHECK(config.find_path("model._target_") == nullptr);
    CHECK(acme.notes.others.size() == 2);
  }
  Acme acme;  // its keys are options of another model
  const Config other = acme.read("model: {type: plain, whisper_size: 8}");
  CHECK(other.find_path("model.whisper_size")->text() == "8");
}

TEST_CASE("a class that is not read is refused with those that are") {
  for (const char* const name : {"AcmeDraft", "AnotherModel"}) {
    Acme acme;
    CHECK_THROWS_WITH_AS(acme.read(std::string("model: {_target_: acme.models.") + name + "}"),
                         doctest::Contains("AcmeModel (acme.model)"), s2s::Error);
  }
}

TEST_CASE("a stranger's checkpoint is recognized by its tensors") {
  const s2s::test::TemporaryFolder folder;
  const std::string file = folder / "model.safetensors";
  s2s::write_safetensors(file, {{"acme_encoder.weight", at::zeros({2})}});
  const s2s::WeightFiles files = s2s::WeightFiles::open(file);
  const Acme acme;
  const s2s::interop::NemoClasses classes(acme.registries);
  REQUIRE(classes.of_tensors(files) != nullptr);
  CHECK(classes.of_tensors(files)->type == "acme.model");
  CHECK_NOTHROW(classes.check(file, files, "", "acme.model"));
  CHECK_THROWS_WITH_AS(classes.check(file, files, "", "plain"),
                       doctest::Contains("[checkpoint/class]"), s2s::Error);
}

TEST_CASE("a stranger's model writes its class") {
  const Acme acme;
  const Config config = s2s::parse_yaml("model: {type: acme.model, width: 8}", "acme.yaml");
  const Config llm;
  const Config written = s2s::interop::written_config(
      s2s::interop::written_class(acme.registries, config), {config, llm, "/out"});
  CHECK(written.find("whisper_size")->text() == "8");
  CHECK(written.find("model_type")->text() == "nemo_speechlm");
  const Config plain = s2s::parse_yaml("model: {type: plain}", "acme.yaml");
  CHECK_THROWS_WITH_AS(s2s::interop::written_class(acme.registries, plain),
                       doctest::Contains("[checkpoint/export]"), s2s::Error);
}
