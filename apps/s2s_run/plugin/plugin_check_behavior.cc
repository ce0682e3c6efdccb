#include "s2s_run/plugin/plugin_check_behavior.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan_check.h"
#include "plugin/plugin_errors.h"
#include "s2s/conformance.h"
#include "s2s/nn/weights.h"
#include "s2s_run/plugin/plugin_check_components.h"

namespace s2s::run {
namespace {

template <class T>
struct Named {
  std::string id;
  std::unique_ptr<T> part;
};

/// The tiny instances of a plugin's components.
struct BuiltComponents {
  std::vector<Named<Backbone>> llms;
  std::vector<Named<Encoder>> encoders;
  std::vector<Named<Codec>> codecs;
  std::vector<bool> are_fitted;  // each codec; the weights of the others may be random
  size_t count() const { return llms.size() + encoders.size() + codecs.size(); }
};

/// Fits a codec to three seconds of tones, if it needs statistics. Returns true if it did.
bool fit_to_tones(Codec& codec) {
  if (codec.is_fitted()) return false;
  const int64_t rate_hz = codec.shape().sample_rate_hz;
  const at::Tensor time_S = at::arange(rate_hz, at::kDouble) / static_cast<double>(rate_hz);
  int given = 0;
  codec.fit([&]() -> at::Tensor {
    if (given == 3) return {};
    const double pitch_hz = 120.0 * ++given;
    const at::Tensor tone_S = at::sin(time_S * (2 * M_PI * pitch_hz)) * at::sin(time_S * 9) * 0.2;
    return (tone_S + at::randn_like(tone_S) * 0.01).to(at::kFloat);
  });
  return true;
}

template <class T>
void build_tiny(const Registries& staging, std::vector<Named<T>>& built) {
  for (const auto& [name, component] : staging.of<T>().entries()) {
    if (component.tiny == nullptr) continue;
    const std::string id = std::string(KindName<T>::value) + ":" + name;
    ContextOf<T> context;
    context.registries = &staging;
    context.path = id;
    const Config options = parse_json(component.tiny, "tiny options of " + id);
    built.push_back({id, component.create(options, context)});
    built.back().part->materialize(at::kCPU, at::kFloat, 1);
  }
}

std::string build_all(const Registries& staging, BuiltComponents& built) {
  at::manual_seed(1);
  build_tiny(staging, built.llms);
  build_tiny(staging, built.encoders);
  build_tiny(staging, built.codecs);
  for (Named<Codec>& codec : built.codecs) built.are_fitted.push_back(fit_to_tones(*codec.part));
  if (built.count() == 0) return "not run: no component has tiny options";
  return std::to_string(built.count()) + " built";
}

template <class T>
void ask(std::vector<Named<T>>& built, AskedComponents& asked) {
  for (Named<T>& one : built) {
    asked.add(one.id, conformance::broken_promises(*one.part));
  }
}

std::string ask_all(BuiltComponents& built, const Registries& staging) {
  AskedComponents asked;
  ask(built.llms, asked);
  ask(built.encoders, asked);
  for (size_t i = 0; i < built.codecs.size(); ++i) {
    asked.add(built.codecs[i].id,
              conformance::broken_promises(*built.codecs[i].part, built.are_fitted[i]));
  }
  ask_other_components(staging, asked);
  return asked.result();
}

struct DataTensor {
  int64_t data, tensor;
};
constexpr DataTensor kMeshes[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 2}, {1, 4}};

/// Checks the plans of a model on several meshes. Returns "llm:llama on 1x1 2x1 (data x tensor);
/// ..."; adds errors other than [plan/indivisible] to the findings.
std::string lay_plans(Named<Backbone>& llm, std::vector<std::string>& findings) {
  std::string holds, rest;
  for (const DataTensor& sizes : kMeshes) {
    PlanCheckInputs inputs;
    inputs.mesh.shard = sizes.data;
    inputs.mesh.tensor = sizes.tensor;
    const std::string mesh = " " + std::to_string(sizes.data) + "x" + std::to_string(sizes.tensor);
    const Findings found = check_plan(*llm.part, llm.part->configure_model(inputs.mesh), inputs);
    (found.empty() ? holds : rest) += mesh;
    for (const Error& error : found.errors()) {
      if (error.id() == "plan/indivisible") continue;
      findings.push_back(llm.id + " on data x tensor" + mesh + ": " + error.what());
    }
  }
  const std::string indivisible =
      rest.empty() ? "" : "; the tensor axis does not divide its sizes on" + rest;
  return llm.id + " on" + holds + " (data x tensor)" + indivisible;
}

std::string lay_all_plans(BuiltComponents& built) {
  std::vector<std::string> findings;
  std::string text;
  for (Named<Backbone>& llm : built.llms) {
    text += (text.empty() ? "" : "; ") + lay_plans(llm, findings);
  }
  if (!findings.empty()) throw promises_error(findings);
  return text.empty() ? "not run: no language model" : text;
}

}  // namespace

std::vector<PluginCheck> behavior_checks() {
  const auto built = std::make_shared<BuiltComponents>();
  return {
      {"tiny instances are built", "building its tiny instances",
       [built](PluginCheckState& state) { return build_all(state.staging, *built); }},
      {"sharding plans are valid on small meshes", "checking its sharding plans on small meshes",
       [built](PluginCheckState&) { return lay_all_plans(*built); }},
      {"components meet the requirements of their interfaces", "checking its components",
       [built](PluginCheckState& state) { return ask_all(*built, state.staging); }}};
}

}  // namespace s2s::run
