#pragma once
// What the tests of language model plugins share: the plugins, and reference files.

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/weights/test_files.h"
#include "eval/compare.h"
#include "parallel/plan_check.h"
#include "plugins/built_plugins.h"
#include "s2s/weights.h"

namespace s2s::test {

class LlmPlugins {
 public:
  std::unique_ptr<Backbone> create(const std::string& json, const std::string& base_dir = ".") {
    BuildContext context;
    context.path = "model.llm";
    context.base_dir = base_dir;
    return plugins_.create<Backbone>(parse_json(json, "test"), context);
  }
  const Component<Backbone>& component(const std::string& name) {
    return plugins_.registries().get<Backbone>(name);
  }
  /// "" when config.json with these keys is accepted.
  std::string translate_error(const std::string& name, const std::string& json) {
    return error_of([&] { component(name).translate(parse_json(json, "config.json")); });
  }
  std::vector<TensorDifference> compare(const ReferenceFile& reference) {
    return compare_reference({reference, {}, plugins_.registries()});
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
    return read_reference(std::string(S2S_SOURCE_DIR) + "/tests/reference/data/" + name +
                          ".safetensors");
  }

 private:
  BuiltPlugins plugins_;
};

inline int64_t count_numbers(Backbone& model) {
  int64_t count = 0;
  for (const NamedTensor& parameter : model.named_parameters()) {
    int64_t numbers = 1;
    for (const int64_t size : parameter.sizes) numbers *= size;
    count += numbers;
  }
  return count;
}

/// Whether the plan holds on so many tensor ranks.
inline bool plan_holds(Backbone& model, int64_t tensor) {
  PlanCheckInputs inputs;
  inputs.mesh.tensor = tensor;
  return check_plan(model, model.configure_model(inputs.mesh), inputs).empty();
}

}  // namespace s2s::test
