#pragma once
// What the tests of language model plugins share: the plugins, and reference files.

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/places.h"
#include "compare/compare.h"
#include "core/weights/test_files.h"
#include "plan/plan_check.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/backbone.h"
#include "s2s/nn/weights.h"

namespace s2s::test {

class LlmPlugins {
 public:
  /// `said`: receives what the plugin has to say.
  std::unique_ptr<Backbone> create(const std::string& json, const std::string& base_dir = ".",
                                   std::vector<std::string>* said = nullptr) {
    BuildContext context;
    context.path = "model.llm";
    context.base_dir = base_dir;
    if (said) context.warn = [said](const std::string& message) { said->push_back(message); };
    return plugins_.create<Backbone>(parse_json(json, "test"), context);
  }
  const Component<Backbone>& component(const std::string& name) {
    return plugins_.registries().get<Backbone>(name);
  }
  /// "" when config.json with these keys is accepted.
  std::string translate_error(const std::string& name, const std::string& json) {
    return error_of([&] { component(name).translate(parse_json(json, "config.json")); });
  }
  std::vector<TensorDifference> compare(const ReferenceFile& reference,
                                        at::ScalarType dtype = at::kFloat) {
    CompareSettings settings;
    settings.dtype = dtype;
    return compare_reference({reference, settings, plugins_.registries()});
  }
  /// False also when the weights of the file do not fit.
  bool agrees(const ReferenceFile& reference) {
    bool pass = false;
    const std::string error = error_of([&] {
      for (const TensorDifference& row : compare(reference)) {
        pass = row.pass;
        if (!pass) break;
      }
    });
    if (!error.empty() && !has(error, "[weights/mismatch]")) throw std::runtime_error(error);
    return pass && error.empty();
  }
  static ReferenceFile reference(const std::string& name) {
    return read_reference(s2s::test::source_dir() + "/tests/reference/data/" + name +
                          ".safetensors");
  }

 private:
  BuiltPlugins plugins_;
};

inline int64_t count_elements(Backbone& model) {
  int64_t count = 0;
  for (const NamedTensor& parameter : model.named_parameters()) {
    int64_t elements = 1;
    for (const int64_t size : parameter.sizes) elements *= size;
    count += elements;
  }
  return count;
}

inline at::Tensor* find_parameter(Backbone& model, const std::string& name) {
  for (const NamedTensor& parameter : model.named_parameters()) {
    if (parameter.name == name) return parameter.tensor;
  }
  throw std::runtime_error("no parameter " + name);
}

/// Whether the plan holds on so many tensor ranks.
inline bool plan_holds(Backbone& model, int64_t tensor) {
  PlanCheckInputs inputs;
  inputs.mesh.tensor = tensor;
  return check_plan(model, model.configure_model(inputs.mesh), inputs).empty();
}

/// A config.json of small sizes. `keys`: further ones (", \"head_dim\": 8").
inline std::string small_file(const std::string& model_type, const std::string& keys) {
  return "{\"model_type\": \"" + model_type + R"(", "vocab_size": 40, "hidden_size": 24,
    "intermediate_size": 36, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2)" +
         keys + "}";
}

/// Another value for keys of a reference file's configuration.
struct Change {
  const char* file;
  std::vector<std::pair<const char*, const char*>> values;
};

/// Checks that the file agrees as it is, and no more with the change.
inline void check_matters(LlmPlugins& plugins, const Change& change) {
  CAPTURE(std::string(change.file));
  CAPTURE(std::string(change.values.front().first));
  auto reference = LlmPlugins::reference(change.file);
  CHECK(plugins.agrees(reference));
  REQUIRE(reference.options.find(change.values.front().first) != nullptr);
  for (const auto& [key, value] : change.values) {
    reference.options[key] = Config::scalar(value);
  }
  CHECK_FALSE(plugins.agrees(reference));
}

/// Checks a preset's number of parameters, and on how many tensor ranks its plan holds and on how
/// many it does not. `elements` 0: not published.
struct PublishedModel {
  const char* preset;
  int64_t elements;
};
inline void check_published(LlmPlugins& plugins, const std::string& name,
                            const PublishedModel& published, int64_t good_ranks,
                            int64_t bad_ranks) {
  CAPTURE(std::string(published.preset));
  const auto model =
      plugins.create("{\"name\": \"" + name + "\", \"preset\": \"" + published.preset + "\"}");
  CHECK(count_elements(*model) == published.elements);
  CHECK(plan_holds(*model, 1));
  CHECK(plan_holds(*model, good_ranks));
  CHECK_FALSE(plan_holds(*model, bad_ranks));
}

}  // namespace s2s::test
