#include "compare/reference_file.h"

#include <ATen/ATen.h>

#include "base/number_text.h"
#include "s2s/nn/weights.h"
#include "train/train_errors.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

std::string required(const SafetensorsFile& file, const std::string& key,
                     const std::string& expected) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end() || it->second.empty()) {
    throw reference_metadata_error(file.path(), key, "", expected);
  }
  return it->second;
}

double tolerance(const SafetensorsFile& file, const std::string& key) {
  const std::string text = required(file, key, "a number");
  const auto value = read_number<double>(text);
  if (value && *value >= 0) return *value;
  throw reference_metadata_error(file.path(), key, text, "a number of at least 0");
}

/// Reads the optional metadata key "bfloat16": {"draws", "nudge", "errors": {NAME: NUMBER}}.
std::optional<RoundingReference> read_rounding(const SafetensorsFile& file) {
  const auto it = file.metadata().find("bfloat16");
  if (it == file.metadata().end()) return {};
  const Config root = parse_json(it->second, file.path() + " (bfloat16)");
  const Config* errors = root.find("errors");
  const Config* draws = root.find("draws");
  const Config* nudge = root.find("nudge");
  if (errors == nullptr || !errors->is_map() || draws == nullptr || nudge == nullptr) {
    throw reference_metadata_error(file.path(), "bfloat16", it->second,
                                   "an object of draws, nudge and errors");
  }
  RoundingReference rounding;
  rounding.draws = draws->as_int("bfloat16.draws");
  rounding.nudge = nudge->as_double("bfloat16.nudge");
  if (rounding.draws < 1) {
    throw reference_metadata_error(file.path(), "bfloat16", it->second, "draws of at least 1");
  }
  for (const auto& [name, value] : errors->entries()) {
    rounding.errors[name] = value.as_double("bfloat16.errors." + name);
  }
  return rounding;
}

/// Returns the tensors "after/<n>/<name>", grouped by n.
std::map<int64_t, TensorMap> read_after(const SafetensorsFile& file) {
  std::map<int64_t, TensorMap> after;
  for (auto& [name, tensor] : file.tensors("after/")) {
    const size_t slash = name.find('/');
    const int64_t steps = read_number<int64_t>(name.substr(0, slash)).value_or(0);
    if (slash == std::string::npos || steps < 1) {
      throw reference_metadata_error(file.path(), "after/" + name, name, "after/STEPS/NAME");
    }
    after[steps][name.substr(slash + 1)] = tensor;
  }
  return after;
}

}  // namespace

const at::Tensor& ReferenceFile::input(const std::string& tensor) const {
  const auto it = inputs.find(tensor);
  if (it == inputs.end()) throw reference_input_error(path, kind, "input/" + tensor);
  return it->second;
}

at::Tensor ReferenceFile::output(const std::string& tensor) const {
  const auto it = outputs.find(tensor);
  return it == outputs.end() ? at::Tensor() : it->second;
}

ReferenceFile read_reference(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  const std::string version = required(file, "s2s.reference", "'1'");
  if (version != "1") throw reference_metadata_error(path, "s2s.reference", version, "'1'");
  ReferenceFile reference;
  reference.path = path;
  reference.kind = required(file, "kind", "llm, encoder, codec or model");
  reference.name = required(file, "name", "a component's name");
  reference.options =
      parse_json(required(file, "options", "the source's configuration"), path + " (options)");
  reference.rtol = tolerance(file, "rtol");
  reference.atol = tolerance(file, "atol");
  reference.weights = file.tensors("weights/");
  reference.inputs = file.tensors("input/");
  reference.outputs = file.tensors("output/");
  reference.grads = file.tensors("grad/");
  reference.after = read_after(file);
  reference.bfloat16 = read_rounding(file);
  return reference;
}

}  // namespace s2s
