#include "compare/compare.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/accelerator.h"
#include "nn/operators.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/weights.h"
#include "train/train_errors.h"
#include "weights/shape_text.h"

namespace s2s {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfTolerance = 0.05;

struct Run {
  const char* kind;
  void (*compare)(const CompareJob&, Comparison&);
};
constexpr Run kRuns[] = {{"llm", compare_llm},
                         {"encoder", compare_encoder},
                         {"codec", compare_codec},
                         {"model", compare_model},
                         {"scorer", compare_scorer}};

double largest(const at::Tensor& values) {
  return values.numel() == 0 ? 0 : values.max().item<double>();
}

/// A few codes that differ are values at a boundary between codes; many are a mistake.
std::string integers_that_differ(const at::Tensor& difference) {
  const int64_t count = difference.count_nonzero().item<int64_t>();
  if (count == 0) return "";
  return fmt::format("{} of {} differ, by at most {:g}", count, difference.numel(),
                     largest(difference));
}

}  // namespace

at::ScalarType parse_dtype(const std::string& text) {
  if (text == "float32" || text == "fp32") return at::kFloat;
  if (text == "float64" || text == "fp64") return at::kDouble;
  if (text == "bfloat16" || text == "bf16") return at::kBFloat16;
  if (text == "float16" || text == "fp16") return at::kHalf;
  throw reference_dtype_error(text);
}

at::Device parse_device(const std::string& text) {
  if (text == "cpu") return at::kCPU;
  std::string why;
  const auto accelerator = open_accelerator(why);  // LibTorch knows its name from now on
  if (text == "gpu" && accelerator) return *accelerator;
  if (text == "gpu") throw reference_device_error(text, why);
  std::optional<at::Device> device;
  try {
    device.emplace(text);
  } catch (const c10::Error&) {
    throw reference_device_error(text, "the name is not known");
  }
  if (!accelerator) throw reference_device_error(text, why);
  if (device->type() != *accelerator) {
    throw reference_device_error(text, "the kind is not supported");
  }
  return *device;
}

Comparison::Comparison(const ReferenceFile& reference, const CompareSettings& settings)
    : reference_(reference),
      is_half_(settings.dtype == at::kHalf || settings.dtype == at::kBFloat16) {}

void Comparison::add(const std::string& name, const at::Tensor& actual, const at::Tensor& expected,
                     const at::Tensor& valid) {
  if (!expected.defined()) return;
  const at::NoGradGuard no_grad;
  const auto sample = reference_.sampled.find(name);
  rows_.push_back(sample == reference_.sampled.end()
                      ? difference(name, actual, expected, valid)
                      : difference_of_sample(name, actual, expected, sample->second));
}

TensorDifference Comparison::difference_of_sample(const std::string& name, const at::Tensor& actual,
                                                  const at::Tensor& expected,
                                                  const SampledTensor& sample) const {
  const at::Tensor whole = at::empty(sample.shape, at::kMeta);  // no memory for it
  if (!actual.defined() || actual.sizes() != whole.sizes()) {
    return difference(name, actual, whole, {});
  }
  const at::Tensor all = actual.detach().to(at::kCPU, at::kDouble).flatten();
  TensorDifference row =
      difference(name, all.index_select(0, sample.indices(expected.numel())), expected, {});
  row.shape = shape_text(whole);
  const TensorDifference norm =
      difference(name, all.norm(), at::scalar_tensor(sample.norm, at::kDouble), {});
  if (norm.share_of_tolerance <= row.share_of_tolerance) return row;
  row.share_of_tolerance = norm.share_of_tolerance;
  row.pass = norm.pass;
  if (!row.pass) {
    row.note = fmt::format("norm {:g} instead of {:g}", all.norm().item<double>(), sample.norm);
  }
  return row;
}

TensorDifference Comparison::difference(const std::string& name, const at::Tensor& actual_in,
                                        const at::Tensor& expected_in,
                                        const at::Tensor& valid) const {
  TensorDifference row;
  row.name = name;
  row.shape = shape_text(expected_in);
  row.share_of_tolerance = kInfinity;
  if (!actual_in.defined()) row.note = "missing";
  if (actual_in.defined() && actual_in.sizes() != expected_in.sizes()) {
    row.note = "shape " + shape_text(actual_in);
  }
  if (!row.note.empty()) return row;
  at::Tensor actual = actual_in.detach().to(at::kCPU, at::kDouble);
  at::Tensor expected = expected_in.to(at::kDouble);
  if (valid.defined()) {
    const at::Tensor chosen = valid.to(at::kCPU).expand_as(expected);
    actual = actual.masked_select(chosen);
    expected = expected.masked_select(chosen);
  }
  const at::Tensor difference = (actual - expected).abs();
  const at::Tensor size = expected.abs();
  row.compared = expected.numel();
  row.largest_absolute = largest(difference);
  if (row.compared > 0) row.root_mean_square = difference.square().mean().sqrt().item<double>();
  row.largest_relative = largest((difference / size).masked_select(size > 0));
  double rtol = reference_.rtol;
  double atol = reference_.atol;
  if (is_half_) {
    rtol = std::max(rtol, kHalfTolerance);
    atol = std::max(atol, kHalfTolerance * largest(size));
  }
  if (!expected_in.is_floating_point()) {
    row.share_of_tolerance = row.largest_absolute == 0 ? 0 : kInfinity;
    row.note = integers_that_differ(difference);
  } else {
    row.share_of_tolerance = largest((difference / (atol + rtol * size)).nan_to_num(kInfinity));
  }
  row.pass = row.share_of_tolerance <= 1;
  return row;
}

void Comparison::add_rounding(const std::string& name, const at::Tensor& like, double ours,
                              double source, double factor) {
  TensorDifference row;
  row.name = name;
  row.shape = shape_text(like);
  row.compared = like.numel();
  row.root_mean_square = ours;
  row.share_of_tolerance = ours / (factor * source);
  row.pass = row.share_of_tolerance <= 1;
  row.note = fmt::format("{:.3g}, {:.2f} x the source's own", ours, ours / source);
  rows_.push_back(row);
}

template <class T>
std::unique_ptr<T> build_from_reference(const CompareJob& job) {
  const ReferenceFile& reference = job.reference;
  ContextOf<T> context;
  context.registries = &job.registries;
  context.path = reference.path;
  if constexpr (std::is_same_v<T, Scorer>) context.device = job.settings.device;
  const Component<T>& component =
      job.registries.get<T>(reference.name, reference.options, reference.path);
  if (component.translate == nullptr) {
    throw reference_translation_error(reference.path, reference.kind, reference.name);
  }
  return component.create(component.translate(reference.options), context);
}
template std::unique_ptr<Backbone> build_from_reference(const CompareJob& job);
template std::unique_ptr<Encoder> build_from_reference(const CompareJob& job);
template std::unique_ptr<Codec> build_from_reference(const CompareJob& job);
template std::unique_ptr<Model> build_from_reference(const CompareJob& job);
template std::unique_ptr<Scorer> build_from_reference(const CompareJob& job);

TensorMap named_grads(Block& block, const NameMap& names, const TensorMap& expected) {
  TensorMap grads;
  for (const NamedTensor& parameter : block.named_parameters()) {
    const auto theirs = names.to_theirs(
        parameter.name, [&](const std::string& spelling) { return expected.count(spelling) != 0; });
    if (!theirs) continue;
    const at::Tensor& grad = parameter.tensor->grad();
    grads[*theirs] = grad.defined() ? grad : at::zeros_like(parameter.tensor->detach());
  }
  return grads;
}

void compare_grads(Block& block, const NameMap& names, const TensorMap& expected,
                   Comparison& comparison) {
  TensorMap actual = named_grads(block, names, expected);
  for (const auto& [name, grad] : expected) comparison.add("grad/" + name, actual[name], grad);
}

std::vector<TensorDifference> compare_reference(const CompareJob& job) {
  Comparison comparison(job.reference, job.settings);
  BuildContext context;
  context.registries = &job.registries;
  context.path = "--device";
  const auto kernels = make_device_kernels(job.settings.device.type(), context);
  for (const Run& run : kRuns) {
    if (job.reference.kind != run.kind) continue;
    run.compare(job, comparison);
    return comparison.rows();
  }
  throw reference_metadata_error(job.reference.path, "kind", job.reference.kind,
                                 "scorer, llm, encoder, codec or model");
}

std::string format_differences(const ReferenceFile& reference,
                               const std::vector<TensorDifference>& rows) {
  size_t width = 6;
  size_t shape_width = 5;
  for (const TensorDifference& row : rows) {
    width = std::max(width, row.name.size());
    shape_width = std::max(shape_width, row.shape.size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:>10}  {:>10}  {:>9}  result\n", "tensor", width,
                                 "shape", shape_width, "absolute", "relative", "tolerance");
  size_t passed = 0;
  double worst = 0;
  for (const TensorDifference& row : rows) {
    passed += row.pass ? 1 : 0;
    worst = std::max(worst, row.share_of_tolerance);
    text += fmt::format("{:<{}}  {:<{}}  {:>10.2e}  {:>10.2e}  {:>8.1f}%  {}{}\n", row.name, width,
                        row.shape, shape_width, row.largest_absolute, row.largest_relative,
                        100 * row.share_of_tolerance, row.pass ? "pass" : "FAIL",
                        row.note.empty() ? "" : " (" + row.note + ")");
  }
  return text + fmt::format(
                    "{}:{}  {} of {} tensors pass (rtol {:g}, atol {:g}); the worst uses "
                    "{:.1f}% of its tolerance\n",
                    reference.kind, reference.name, passed, rows.size(), reference.rtol,
                    reference.atol, 100 * worst);
}

std::string differences_json(const ReferenceFile& reference,
                             const std::vector<TensorDifference>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  bool all_pass = !rows.empty();
  for (const TensorDifference& row : rows) {
    all_pass = all_pass && row.pass;
    nlohmann::ordered_json item = {{"name", row.name},
                                   {"shape", row.shape},
                                   {"compared", row.compared},
                                   {"largest_absolute", row.largest_absolute},
                                   {"largest_relative", row.largest_relative},
                                   {"root_mean_square", row.root_mean_square},
                                   {"share_of_tolerance", row.share_of_tolerance},
                                   {"pass", row.pass}};
    if (!std::isfinite(row.share_of_tolerance)) item["share_of_tolerance"] = nullptr;
    if (!row.note.empty()) item["note"] = row.note;
    list.push_back(std::move(item));
  }
  const nlohmann::ordered_json root = {{"kind", reference.kind}, {"name", reference.name},
                                       {"rtol", reference.rtol}, {"atol", reference.atol},
                                       {"pass", all_pass},       {"tensors", std::move(list)}};
  return root.dump(2) + "\n";
}

}  // namespace s2s
