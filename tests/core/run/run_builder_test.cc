#include "run/run_builder.h"

#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "config/yaml_reader.h"
#include "core/train/fake_run.h"

namespace {

using s2s::Config;
using s2s::DataContext;
using s2s::Registries;

struct WarningData : s2s::test::FakeData {
  explicit WarningData(const DataContext& context) { context.warn(context.path + ": odd cuts"); }
};

struct QuietScorer : s2s::Scorer {
  void prepare(const std::vector<std::string>&) override {}
  std::vector<std::string> transcribe(const std::vector<s2s::AudioClip>&) override { return {}; }
};

struct Parts {
  Parts() {
    s2s::Component<s2s::DataSource> data;
    data.name = "odd";
    data.create = [](const Config&,
                     const DataContext& context) -> std::unique_ptr<s2s::DataSource> {
      return std::make_unique<WarningData>(context);
    };
    registries.of<s2s::DataSource>().add(data);
    s2s::Component<s2s::Scorer> scorer;
    scorer.name = "quiet";
    scorer.create = [](const Config&,
                       const s2s::ScorerContext& context) -> std::unique_ptr<s2s::Scorer> {
      context.warn(context.path);
      return std::make_unique<QuietScorer>();
    };
    registries.of<s2s::Scorer>().add(scorer);
    warnings.send_to([this](const std::string& message) { heard.push_back(message); });
  }
  Registries registries;
  s2s::Warnings warnings;
  std::vector<std::string> heard;
};

Config yaml(const std::string& text) { return s2s::parse_yaml(text, "test.yaml"); }

}  // namespace

TEST_CASE("what parts warn of is heard once, however often they are built") {
  Parts parts;
  const Config config = yaml(
      "model: {type: d, scoring_asr: {name: quiet}}\n"
      "data: {train_ds: {name: odd}, validation_ds: {datasets: {a: {name: odd}}}}\n"
      "trainer: {accelerator: cpu}\n");
  const s2s::RunBuilder builder(config, parts.registries, parts.warnings);
  const s2s::test::FakeStrategy strategy;
  builder.train_source(nullptr, strategy);
  builder.train_source(nullptr, strategy);
  CHECK(builder.all_train_data(nullptr) != nullptr);
  CHECK(builder.scorer() != nullptr);
  builder.validation_sources(nullptr).at("a")({});
  const std::vector<std::string> expected = {"data.train_ds: odd cuts", "model.scoring_asr",
                                             "data.validation_ds.datasets.a: odd cuts"};
  CHECK(parts.heard == expected);
}

TEST_CASE("parts that the configuration does not name are not built") {
  Parts parts;
  const Config config = yaml("{model: {type: d}, trainer: {accelerator: cpu}}");
  const s2s::RunBuilder builder(config, parts.registries, parts.warnings);
  CHECK(builder.tokenizer() == nullptr);
  CHECK(builder.scorer() == nullptr);
  CHECK(builder.all_train_data(nullptr) == nullptr);
  CHECK_THROWS_WITH_AS(builder.train_source(nullptr, s2s::test::FakeStrategy()),
                       doctest::Contains("[config/no-datasets]"), s2s::Error);
}

TEST_CASE("the trainer and the components share blocks without seeing each other's keys") {
  const Config config = yaml(
      "model: {type: d, llm: {name: x}, freeze_params: [a], optimizer: {name: o, lr: 1, lr_scales: "
      "[{params: b, scale: 2}]}}\n");
  const s2s::RunOptions options = s2s::read_run_options(config);
  CHECK(options.model.type == "d");
  CHECK(options.model.freeze_params == std::vector<std::string>{"a"});
  REQUIRE(options.optimizer.lr_scales.size() == 1);
  CHECK(options.optimizer.lr_scales[0].scale == 2);
  const Config model = s2s::model_component(config);
  CHECK(model.find("name")->text() == "d");
  CHECK(model.entries().size() == 2);
  const Config optimizer = s2s::optimizer_component(config);
  CHECK(optimizer.find("lr_scales") == nullptr);
  CHECK(optimizer.find("lr")->as_int("") == 1);
}

TEST_CASE("a validation set is opened once, and read from its beginning each time") {
  Parts parts;
  int opened = 0;
  std::vector<uint64_t> entropies;
  s2s::Component<s2s::DataSource> data;
  data.name = "counted";
  static std::function<void(const DataContext&)> on_open;
  on_open = [&](const DataContext& context) {
    ++opened;
    entropies.push_back(context.entropy);
  };
  data.create = [](const Config&, const DataContext& context) -> std::unique_ptr<s2s::DataSource> {
    on_open(context);
    return std::make_unique<s2s::test::FakeData>();
  };
  parts.registries.of<s2s::DataSource>().add(data);
  const Config config = yaml(
      "model: {type: d}\n"
      "data: {validation_ds: {datasets: {a: {name: counted}}}}\n"
      "trainer: {accelerator: cpu}\n");
  s2s::RunBuilder builder(config, parts.registries, parts.warnings);
  builder.set_entropy(77);
  const auto sources = builder.validation_sources(nullptr);
  const auto first_ids = [&] { return sources.at("a")({})->next()->ids; };
  const auto ids = first_ids();
  CHECK(first_ids() == ids);
  CHECK(opened == 1);
  const auto held = sources.at("a")({});
  CHECK(first_ids() == ids);
  CHECK(opened == 2);
  sources.at("a")({1, 2});
  CHECK(opened == 3);
  CHECK(entropies == std::vector<uint64_t>(3, 77));
}
