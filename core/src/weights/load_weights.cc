#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <set>

#include "s2s/weights.h"
#include "weights/finite.h"
#include "weights/shape_text.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format("; nearest: '{}'", nearest);
}

/// One tensor of the model and the checkpoint's tensor for it.
struct Match {
  at::Tensor destination;
  std::string their_name;
  at::Tensor value;
};

class Matcher {
 public:
  Matcher(const NameMap& names, const TensorMap& tensors) : names_(names), tensors_(tensors) {
    for (const auto& entry : tensors) their_names_.push_back(entry.first);
  }

  void match(const NamedTensor& ours) {
    const auto theirs = names_.to_theirs(ours.name);
    S2S_ASSERT(theirs.has_value(), "a name map names every parameter and persistent buffer");
    expected_.push_back(*theirs);
    const auto it = tensors_.find(*theirs);
    if (it == tensors_.end()) {
      missing_.push_back(*theirs);
    } else if (ours.tensor->defined() && ours.tensor->sizes() != it->second.sizes()) {
      findings_.push_back(fmt::format("'{}' has shape {}, expected {}", *theirs,
                                      shape_text(it->second.sizes()),
                                      shape_text(ours.tensor->sizes())));
    } else {
      matches_.push_back({*ours.tensor, *theirs, it->second});
    }
  }

  std::vector<Match> finish(const std::string& source) {
    const std::set<std::string> known(expected_.begin(), expected_.end());
    std::vector<std::string> extra;
    for (const std::string& name : their_names_) {
      if (known.count(name) == 0 && !names_.is_ignored(name)) extra.push_back(name);
    }
    for (const std::string& name : missing_) {
      findings_.push_back(fmt::format("'{}' is missing{}", name, suggestion(name, extra)));
    }
    for (const std::string& name : extra) {
      findings_.push_back(fmt::format("'{}' is not expected{}", name, suggestion(name, expected_)));
    }
    if (!findings_.empty()) throw weights_errors::mismatch(source, findings_);
    return std::move(matches_);
  }

 private:
  const NameMap& names_;
  const TensorMap& tensors_;
  std::vector<std::string> their_names_;
  std::vector<std::string> expected_;
  std::vector<std::string> missing_;
  std::vector<std::string> findings_;
  std::vector<Match> matches_;
};

/// Parameters, and buffers that are stored.
std::vector<NamedTensor> stored_tensors(Block& block) {
  std::vector<NamedTensor> all = block.named_parameters();
  for (NamedTensor& buffer : block.named_buffers()) {
    if (buffer.persistent) all.push_back(std::move(buffer));
  }
  return all;
}

}  // namespace

void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const TensorMap& tensors, const std::string& source) {
  const at::NoGradGuard no_grad;
  Matcher matcher(names, tensors);
  for (const NamedTensor& tensor : ours) {
    S2S_ASSERT(tensor.tensor->defined(), "weights are loaded after the model has memory");
    matcher.match(tensor);
  }
  std::vector<Match> matches = matcher.finish(source);
  for (const Match& match : matches) check_finite(source, match.their_name, match.value);
  for (Match& match : matches) match.destination.copy_(match.value);
}

void load_weights(Block& block, const NameMap& names, const TensorMap& tensors,
                  const std::string& source) {
  load_tensors(stored_tensors(block), names, tensors, source);
}

TensorMap export_weights(Block& block, const NameMap& names) {
  TensorMap exported;
  for (const NamedTensor& ours : stored_tensors(block)) {
    const auto theirs = names.to_theirs(ours.name);
    S2S_ASSERT(theirs.has_value(), "a name map names every parameter and persistent buffer");
    exported[*theirs] = ours.tensor->detach();
  }
  return exported;
}

void throw_unsupported_config(const std::string& place, const std::string& key,
                              const std::string& value, const std::string& expected) {
  throw weights_errors::config(place, key, value, expected);
}

}  // namespace s2s
