// Compares encoders. Shape letters: B batch, S samples, F mel bands, T frames, H width.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "compare/compare.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s {
namespace {

/// Outputs that an encoder need not have, or may have in another shape.
bool is_optional(const std::string& name) {
  static const std::set<std::string> kOptional = {"layer_1", "conv_features", "normalised"};
  return kOptional.contains(name);
}

/// Another attention context [left, right] of an encoder, in the name of an output:
/// features_L_R, stream_L_R, whole_L_R, stepN_last_channel_L_R, ...
struct OfContext {
  std::string output;  // what such an encoder calls it
  std::string left, right;
};

/// A cache of NeMo's after a step: it has layers first, and no frames.
bool is_step(const std::string& name) { return name.starts_with("step"); }

std::optional<OfContext> context_of(const std::string& name) {
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
  };
  const size_t second = name.rfind('_');
  if (second == std::string::npos || second == 0) return std::nullopt;
  const size_t first = name.rfind('_', second - 1);
  if (first == std::string::npos) return std::nullopt;
  const std::string output = name.substr(0, first);
  const std::string left = name.substr(first + 1, second - first - 1);
  const std::string right = name.substr(second + 1);
  static const std::set<std::string> kOutputs = {"features", "stream", "whole"};
  const bool is_known = kOutputs.contains(output) || is_step(output);
  if (!is_known || !is_number(left) || !is_number(right)) return std::nullopt;
  return OfContext{output == "whole" ? "features" : output, left, right};
}

/// The encoder of the file with that attention context. Null if it has no such option.
std::unique_ptr<Encoder> with_context(const CompareJob& job, const OfContext& of) {
  const ReferenceFile& file = job.reference;
  ContextOf<Encoder> context;
  context.registries = &job.registries;
  context.path = file.path;
  const auto& component = job.registries.get<Encoder>(file.name, file.options, file.path);
  Config node = component.translate(file.options);
  if (node.find_path("encoder.att_context_size") == nullptr) return nullptr;
  Config& encoder = node["encoder"];
  encoder["att_context_size"] = Config::list({Config::scalar(of.left), Config::scalar(of.right)});
  encoder.erase("att_context_probs");
  return component.create(node, context);
}

/// Every output of the encoder, by its name in the file.
TensorMap outputs_of(const CompareJob& job, Encoder& encoder) {
  const ReferenceFile& file = job.reference;
  TensorMap inputs;
  for (const auto& [name, tensor] : file.inputs) inputs[name] = tensor.to(job.settings.device);
  auto* const runs = dynamic_cast<RunsReferences*>(&encoder);
  if (runs != nullptr && inputs.contains("mel")) {
    file.input("mel_lengths");
    return runs->reference_outputs(inputs, /*training=*/false);
  }
  file.input("audio");
  file.input("lengths");
  if (runs != nullptr) return runs->reference_outputs(inputs, /*training=*/false);
  const EncoderOutput output = encoder.forward(inputs.at("audio"), inputs.at("lengths"));
  return {
      {"mel", output.mel_BFT}, {"lengths", output.lengths_B}, {"features", output.features_BTH}};
}

/// Rows of a file may be padded to another width, which is not compared: both are cut to the
/// narrower one, if all that is valid is in it.
void cut_to_one_width(at::Tensor& ours, at::Tensor& expected, int64_t dim, int64_t longest) {
  if (!ours.defined() || ours.dim() != expected.dim()) return;
  const int64_t width = std::min(ours.size(dim), expected.size(dim));
  if (width < longest) return;
  ours = ours.narrow(dim, 0, width);
  expected = expected.narrow(dim, 0, width);
}

void compare_padded(const std::string& name, at::Tensor ours, at::Tensor expected,
                    const at::Tensor& lengths_B, Comparison& comparison) {
  const bool is_mel = name == "mel";
  const int64_t dim = is_mel ? 2 : 1;
  const at::Tensor lengths = lengths_B.cpu();
  if (lengths.numel() > 0) cut_to_one_width(ours, expected, dim, lengths.max().item<int64_t>());
  if (is_optional(name) && (!ours.defined() || ours.sizes() != expected.sizes())) return;
  at::Tensor valid = length_mask(lengths, expected.size(dim));
  if (expected.dim() == 3) valid = valid.unsqueeze(is_mel ? 1 : 2);
  comparison.add("output/" + name, ours, expected, valid);
}

TensorMap run(const CompareJob& job, Encoder& encoder) {
  encoder.materialize(job.settings.device, job.settings.dtype, 0);
  load_weights(encoder, encoder.checkpoint_names(), job.reference.weights, job.reference.path);
  encoder.train(false);
  return outputs_of(job, encoder);
}

/// Adds the outputs of the file that have other attention contexts.
void add_contexts(const CompareJob& job, TensorMap& actual) {
  std::map<std::string, TensorMap> runs;  // by context
  for (const auto& [name, expected] : job.reference.outputs) {
    const auto of = context_of(name);
    if (!of) continue;
    const std::string key = of->left + "_" + of->right;
    if (!runs.contains(key)) {
      const std::unique_ptr<Encoder> encoder = with_context(job, *of);
      runs[key] = encoder == nullptr ? TensorMap() : run(job, *encoder);
    }
    at::Tensor ours = runs[key][of->output];
    // A stream, and one pass beside it, may be of the first rows and of their valid frames alone.
    const bool is_cut = name.starts_with("stream") || name.starts_with("whole");
    if (ours.defined() && ours.dim() == expected.dim() && is_cut) {
      for (const int64_t dim : {0, 1}) {
        ours = ours.narrow(dim, 0, std::min(ours.size(dim), expected.size(dim)));
      }
    }
    actual[name] = ours;
  }
}

}  // namespace

void compare_encoder(const CompareJob& job, Comparison& comparison) {
  const at::NoGradGuard no_grad;
  const ReferenceFile& file = job.reference;
  TensorMap actual = run(job, *build_from_reference<Encoder>(job));
  add_contexts(job, actual);
  const auto lengths_of = [&](const char* name) {
    const at::Tensor given = file.output(name);
    return given.defined() ? given : actual[name];
  };
  for (const auto& [name, expected] : file.outputs) {
    const bool is_mel = name == "mel";
    const at::Tensor lengths = name == "normalised" ? file.input("lengths")
                               : is_mel             ? lengths_of("mel_lengths")
                                                    : lengths_of("lengths");
    const bool is_stream =
        name.starts_with("stream_") || name.starts_with("whole_") || is_step(name);
    if (name.ends_with("lengths") || !lengths.defined() || expected.dim() < 2 || is_stream) {
      comparison.add("output/" + name, actual[name], expected);
    } else {
      compare_padded(name, actual[name], expected, lengths, comparison);
    }
  }
}

}  // namespace s2s
