#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "s2s/nn/weights.h"
#include "weights/copy_weights.h"
#include "weights/shape_text.h"
#include "weights/stored_tensors.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using AllFacts = std::map<std::string, TensorFacts>;
using Slices = std::map<std::string, TensorSlice>;

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format("; nearest: '{}'", nearest);
}

/// One tensor of the model and the checkpoint's tensor for it.
struct Match {
  at::Tensor* member;
  std::string their_name;
  const TensorSlice* slice = nullptr;  // all of it without one
};

class Matcher {
 public:
  Matcher(const NameMap& names, const AllFacts& theirs, const Slices& slices)
      : names_(names), theirs_(theirs), slices_(slices) {}

  void match(const NamedTensor& ours) {
    S2S_ASSERT(ours.tensor->defined(), "weights are matched when sizes and types are known");
    const auto name = names_.to_theirs(
        ours.name, [this](const std::string& spelling) { return theirs_.count(spelling) != 0; });
    S2S_ASSERT(name.has_value(), "a name map names every parameter and persistent buffer");
    expected_.push_back(*name);
    const auto it = theirs_.find(*name);
    if (it == theirs_.end()) {
      missing_.push_back(*name);
      return;
    }
    const auto part = slices_.find(ours.name);
    const TensorSlice* slice = part == slices_.end() ? nullptr : &part->second;
    const std::vector<int64_t> sizes = sizes_of(it->second, slice);
    if (ours.tensor->sizes() == at::IntArrayRef(sizes)) {
      matches_.push_back({ours.tensor, *name, slice});
    } else {
      findings_.push_back(fmt::format("'{}' has shape {}{}, expected {}", *name,
                                      shape_text(it->second.sizes),
                                      slice == nullptr ? "" : ", a part " + shape_text(sizes),
                                      shape_text(ours.tensor->sizes())));
    }
  }

  std::vector<Match> finish(const std::string& source) {
    const std::set<std::string> known(expected_.begin(), expected_.end());
    std::vector<std::string> extra;
    for (const auto& [name, facts] : theirs_) {
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
  static std::vector<int64_t> sizes_of(const TensorFacts& theirs, const TensorSlice* slice) {
    std::vector<int64_t> sizes = theirs.sizes;
    const bool has_dim =
        slice != nullptr && slice->dim >= 0 && slice->dim < static_cast<int64_t>(sizes.size());
    if (has_dim) sizes[static_cast<size_t>(slice->dim)] = slice->length;
    return sizes;
  }

  const NameMap& names_;
  const AllFacts& theirs_;
  const Slices& slices_;
  std::vector<std::string> expected_;
  std::vector<std::string> missing_;
  std::vector<std::string> findings_;
  std::vector<Match> matches_;
};

const at::Tensor& destination_of(const Match& match) {
  S2S_ASSERT(!match.member->is_meta(), "weights are loaded after the model has memory");
  return *match.member;
}

/// Tensors of files that are matched with members, and read later.
class MatchedFiles final : public WeightSource {
 public:
  MatchedFiles(const std::vector<NamedTensor>& ours, const NameMap& names, WeightFiles files)
      : files_(std::move(files)) {
    const Slices none;
    Matcher matcher(names, files_.facts(), none);
    for (const NamedTensor& tensor : ours) matcher.match(tensor);
    for (const Match& match : matcher.finish(files_.path())) {
      theirs_.emplace(match.member, match.their_name);
    }
  }
  std::vector<const at::Tensor*> members() const override {
    std::vector<const at::Tensor*> members;
    for (const auto& [member, name] : theirs_) members.push_back(member);
    return members;
  }
  void write(const at::Tensor* member, const at::Tensor& destination) const override {
    const at::NoGradGuard no_grad;
    const std::string& name = theirs_.at(member);
    copy_stored(files_, {name, nullptr, files_.facts().at(name)}, destination);
  }

 private:
  WeightFiles files_;
  std::map<const at::Tensor*, std::string> theirs_;
};

}  // namespace

void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const TensorMap& tensors, const std::string& source) {
  const at::NoGradGuard no_grad;
  AllFacts facts;
  for (const auto& [name, tensor] : tensors) {
    facts[name] = {tensor.scalar_type(), tensor.sizes().vec()};
  }
  const Slices none;
  Matcher matcher(names, facts, none);
  for (const NamedTensor& tensor : ours) matcher.match(tensor);
  for (const Match& match : matcher.finish(source)) {
    copy_checked(source, match.their_name, tensors.at(match.their_name), destination_of(match));
  }
}

void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const WeightFiles& files, const std::map<std::string, TensorSlice>& slices) {
  const at::NoGradGuard no_grad;
  Matcher matcher(names, files.facts(), slices);
  for (const NamedTensor& tensor : ours) matcher.match(tensor);
  for (const Match& match : matcher.finish(files.path())) {
    const std::string& name = match.their_name;
    copy_stored(files, {name, match.slice, files.facts().at(name)}, destination_of(match));
  }
}

std::unique_ptr<WeightSource> weight_source(const std::vector<NamedTensor>& ours,
                                            const NameMap& names, WeightFiles files) {
  return std::make_unique<MatchedFiles>(ours, names, std::move(files));
}

std::unique_ptr<WeightSource> weight_source(Block& block, const NameMap& names, WeightFiles files) {
  return weight_source(stored_tensors(block), names, std::move(files));
}

void load_weights(Block& block, const NameMap& names, const TensorMap& tensors,
                  const std::string& source) {
  load_tensors(stored_tensors(block), names, tensors, source);
}

void load_weights(Block& block, const NameMap& names, const WeightFiles& files) {
  load_tensors(stored_tensors(block), names, files);
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
