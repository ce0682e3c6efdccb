// sgd, lion, adafactor and muon against the classes that they are made after, over ten steps.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "plugins/built_plugins.h"
#include "s2s/error.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

namespace {

using nlohmann::json;
using s2s::GradientScale;
using s2s::NamedTensor;
using s2s::Optimizer;
using s2s::SafetensorsFile;

constexpr int64_t kSteps = 10;

std::unique_ptr<Optimizer> optimizer_of(const std::string& options) {
  static s2s::test::BuiltPlugins plugins;
  s2s::BuildContext context;
  context.path = "model.optimizer";
  return plugins.create<Optimizer>(s2s::parse_json(options, "optimizer"), context);
}

const SafetensorsFile& file() {
  static const SafetensorsFile opened = SafetensorsFile::open(
      s2s::test::source_dir() + "/tests/reference/data/peer_optimizers.safetensors");
  return opened;
}

json cases() { return json::parse(file().metadata().at("cases")); }

/// The file's parameters, and an optimizer of one of its cases.
struct Run {
  explicit Run(const json& given, at::ScalarType dtype = at::kFloat)
      : factors(given["factors"]), optimizer(optimizer_of(given["optimizer"].dump())) {
    const std::string prefix = "first.";
    for (const auto& [name, tensor] : file().tensors()) {
      if (name.starts_with(prefix)) {
        parameters[name.substr(prefix.size())] = tensor.to(dtype, false, /*copy=*/true);
      }
    }
    std::vector<NamedTensor> named;
    for (auto& [name, tensor] : parameters) {
      tensor.set_requires_grad(true);
      named.push_back({name, &tensor, tensor.sizes().vec(), {}});
    }
    optimizer->attach(named, std::vector<double>(named.size(), 1.0));
  }

  void set_gradients(int64_t step, double factor = 1) {
    for (auto& [name, tensor] : parameters) {
      const std::string key = "gradient." + std::to_string(step) + "." + name;
      tensor.mutable_grad() = file().tensors().contains(key)
                                  ? (file().tensors().at(key) * factor).to(tensor.scalar_type())
                                  : at::Tensor();
    }
  }
  double rate(int64_t step) const {
    return optimizer->base_learning_rate() * factors[static_cast<size_t>(step)].get<double>();
  }
  void run(int64_t begin, int64_t end) {
    for (int64_t step = begin; step < end; ++step) {
      set_gradients(step);
      optimizer->step(rate(step));
    }
  }

  json factors;
  std::map<std::string, at::Tensor> parameters;
  std::unique_ptr<Optimizer> optimizer;
};

double difference(const at::Tensor& ours, const at::Tensor& theirs) {
  REQUIRE(ours.sizes() == theirs.sizes());
  return (ours - theirs).abs().max().item<double>() / (theirs.abs().max().item<double>() + 1e-12);
}

void check_same(const Run& a, const Run& b) {
  for (const auto& [name, tensor] : a.parameters) CHECK(tensor.equal(b.parameters.at(name)));
  const s2s::TensorMap states = b.optimizer->state();
  for (const auto& [name, value] : a.optimizer->state()) {
    CAPTURE(name);
    CHECK(value.equal(states.at(name)));
  }
}

std::string error_of(const std::string& options) {
  try {
    optimizer_of(options);
  } catch (const s2s::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("ten updates of each optimizer are those of the class that it is made after") {
  REQUIRE(cases().size() == 13);
  for (const json& given : cases()) {
    const std::string name = given["case"];
    CAPTURE(name);
    // Matrices go through bfloat16, where another machine may round the other way.
    const double tolerance = name.starts_with("muon") ? 2e-3 : 2e-6;
    Run run(given);
    double worst = 0;
    const auto compare = [&](const std::string& when) {
      for (const auto& [parameter, tensor] : run.parameters) {
        CAPTURE(parameter);
        const double found =
            difference(tensor.detach(), file().tensors().at(name + "." + when + "." + parameter));
        CHECK(found < tolerance);
        worst = std::max(worst, found);
      }
    };
    run.run(0, 1);
    compare("after_1");
    run.run(1, kSteps);
    compare("after_10");
    int64_t num_states = 0;
    const s2s::TensorMap states = run.optimizer->state();
    for (const auto& [key, value] : file().tensors()) {
      const std::string prefix = name + ".state.";
      if (!key.starts_with(prefix)) continue;
      CAPTURE(key);
      REQUIRE(states.contains(key.substr(prefix.size())));
      CHECK(difference(states.at(key.substr(prefix.size())), value) < tolerance);
      ++num_states;
    }
    // Only dampening needs to know which gradient is the first.
    CHECK(states.size() == static_cast<size_t>(num_states + (name == "sgd_dampening" ? 6 : 0)));
    MESSAGE(name << ": " << num_states << " states, largest difference " << worst);
  }
}

TEST_CASE("an optimizer that goes on from its state makes the same updates") {
  for (const json& given : cases()) {
    CAPTURE(given["case"].get<std::string>());
    Run straight(given), begun(given), continued(given);
    straight.run(0, kSteps);
    begun.run(0, 4);
    for (auto& [name, tensor] : continued.parameters) {
      tensor.detach().copy_(begun.parameters.at(name).detach());
    }
    continued.optimizer->restore(begun.optimizer->state());
    continued.run(4, kSteps);
    check_same(straight, continued);
  }
}

TEST_CASE("updates that the device scales and skips are updates of scaled gradients") {
  const at::Tensor two = at::full({}, 2.0F), no = at::zeros({}), yes = at::ones({});
  for (const json& given : cases()) {
    CAPTURE(given["case"].get<std::string>());
    Run plain(given), scaled(given);
    for (int64_t step = 0; step < kSteps; ++step) {
      plain.set_gradients(step);
      plain.optimizer->step(plain.rate(step));
      scaled.set_gradients(step, INFINITY);
      CHECK(scaled.optimizer->step_scaled(scaled.rate(step), {two, yes}));
      scaled.set_gradients(step, 2);
      CHECK(scaled.optimizer->step_scaled(scaled.rate(step), {two, no}));
    }
    check_same(plain, scaled);
  }
}

TEST_CASE("parameters in bfloat16 follow those in float32") {
  for (const json& given : cases()) {
    CAPTURE(given["case"].get<std::string>());
    Run wide(given), narrow(given, at::kBFloat16);
    wide.run(0, kSteps);
    narrow.run(0, kSteps);
    for (const auto& [name, tensor] : wide.parameters) {
      CHECK(difference(narrow.parameters.at(name).detach().to(at::kFloat), tensor.detach()) < 0.1);
    }
  }
}

TEST_CASE("norms and biases do not decay if they are excluded") {
  for (const char* name : {"sgd", "lion", "adafactor", "muon"}) {
    CAPTURE(name);
    json options = {{"name", name}, {"weight_decay", 0.5}, {"exclude_norm_from_wd", true}};
    if (options["name"] == "muon") options["adamw_weight_decay"] = 0.7;
    json without = {{"name", name}, {"weight_decay", 0}};
    Run excluded({{"factors", cases()[0]["factors"]}, {"optimizer", options}});
    Run none({{"factors", cases()[0]["factors"]}, {"optimizer", without}});
    excluded.run(0, kSteps);
    none.run(0, kSteps);
    for (const auto& [parameter, tensor] : excluded.parameters) {
      CAPTURE(parameter);
      const bool is_excluded = parameter == "block.norm.weight" || parameter == "late.bias";
      CHECK(tensor.equal(none.parameters.at(parameter)) == is_excluded);
    }
  }
}

TEST_CASE("options that contradict each other are refused") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"name": "sgd", "nesterov": true})", "nesterov: true needs a momentum"},
      {R"({"name": "sgd", "nesterov": true, "momentum": 0.9, "dampening": 0.1})", "no dampening"},
      {R"({"name": "lion", "betas": [0.9]})", "model.optimizer.betas has 1 values"},
      {R"({"name": "lion", "lr": 0, "decoupled_weight_decay": true})", "divides by lr"},
      {R"({"name": "adafactor", "lr": 1e-3})", "lr and relative_step: true exclude each other"},
      {R"({"name": "adafactor", "relative_step": false})", "relative_step is false, and lr is"},
      {R"({"name": "adafactor", "lr": 1, "relative_step": false, "warmup_init": true})",
       "warmup_init: true needs relative_step: true"},
      {R"({"name": "adafactor", "eps": [1e-3]})", "model.optimizer.eps has 1 values"},
      {R"({"name": "muon", "ns_coefficients": [1, 2]})", "ns_coefficients has 2 values"},
      {R"({"name": "muon", "adjust_lr_fn": "other"})", "adjust_lr_fn"},
      {R"({"name": "muon", "lr": 0, "adamw_lr": 1e-3})", "adamw_lr is relative to lr"}};
  for (const auto& [options, message] : wrong) {
    CAPTURE(options);
    CHECK(error_of(options).find(message) != std::string::npos);
  }
}

TEST_CASE("states of another optimizer are refused by name") {
  Run adafactor(cases()[7]), sgd(cases()[1]);
  try {
    sgd.optimizer->restore(adafactor.optimizer->state());
    CHECK(false);
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "checkpoint/optimizer");
    const std::string what = error.what();
    CHECK(what.find("missing: block.tall.weight.momentum_buffer") != std::string::npos);
    CHECK(what.find("not expected: block.tall.weight.exp_avg_sq_row") != std::string::npos);
  }
}
