#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "s2s/nn/weights.h"
#include "weights/checkpoint_files.h"
#include "weights/finite.h"
#include "weights/fused_rows.h"
#include "weights/shape_text.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

/// Elements per check and copy. They fit in the processor's cache.
constexpr int64_t kChunkElements = 1 << 17;
/// Elements per read. Large reads are faster.
constexpr int64_t kReadElements = 1 << 20;

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.is_contiguous();
}

void copy_chunk(const at::Tensor& chunk, const at::Tensor& destination) {
  const bool is_same =
      is_plain(destination) && is_plain(chunk) && destination.scalar_type() == chunk.scalar_type();
  if (is_same) {
    std::memcpy(destination.mutable_data_ptr(), chunk.const_data_ptr(), chunk.nbytes());
  } else {
    destination.copy_(chunk);
  }
}

/// A tensor in files, or a slice of it.
struct StoredPart {
  const std::string& name;
  const TensorSlice* slice = nullptr;  // null: the full tensor
  const TensorFacts& facts;
};

/// Returns the position of the slice in its file, or nothing when its elements are not contiguous.
std::optional<StoredBytes> bytes_of(const WeightFiles& files, const StoredPart& part) {
  std::optional<StoredBytes> bytes = stored_bytes(files, part.name);
  if (!bytes || bytes->bytes == 0 || part.facts.sizes.empty()) return std::nullopt;
  if (part.slice == nullptr) return bytes;
  const int64_t rows = part.facts.sizes[0];
  const TensorSlice& slice = *part.slice;
  if (slice.dim != 0 || slice.begin < 0 || slice.length <= 0 || slice.length > rows - slice.begin) {
    return std::nullopt;
  }
  const uint64_t row_bytes = bytes->bytes / static_cast<uint64_t>(rows);
  bytes->offset += static_cast<uint64_t>(slice.begin) * row_bytes;
  bytes->bytes = static_cast<uint64_t>(slice.length) * row_bytes;
  return bytes;
}

/// Ranges of contiguous elements of the file, in order.
class Stretches {
 public:
  Stretches(const StoredBytes& from, at::ScalarType type, int64_t count)
      : from_(from), width_(static_cast<int64_t>(c10::elementSize(type))), count_(count) {}
  bool at_end() const { return begin_ == count_; }
  int64_t begin() const { return begin_; }
  int64_t length() const { return std::min(kReadElements, count_ - begin_); }
  void read(void* to) const {
    from_.mapping->read(from_.offset + static_cast<uint64_t>(begin_ * width_),
                        static_cast<uint64_t>(length() * width_), to);
  }
  void next() { begin_ += length(); }

 private:
  const StoredBytes& from_;
  int64_t width_, count_, begin_ = 0;
};

/// Reads the elements directly into the destination. False at the first range that is not finite.
bool stream_directly(const StoredBytes& from, const at::Tensor& flat) {
  const at::ScalarType type = flat.scalar_type();
  auto* const data = static_cast<char*>(flat.mutable_data_ptr());
  for (Stretches part(from, type, flat.numel()); !part.at_end(); part.next()) {
    char* const to = data + part.begin() * static_cast<int64_t>(c10::elementSize(type));
    part.read(to);
    const std::optional<bool> known = all_finite(to, part.length(), type);
    const bool is_good = known ? *known : all_finite(flat.narrow(0, part.begin(), part.length()));
    if (!is_good) return false;
  }
  return true;
}

/// For a destination with another dtype or device. Reads through a small buffer.
bool stream_through(const StoredBytes& from, at::ScalarType type, const at::Tensor& flat) {
  const at::Tensor buffer =
      at::empty({std::min(kReadElements, flat.numel())}, at::TensorOptions().dtype(type));
  for (Stretches part(from, type, flat.numel()); !part.at_end(); part.next()) {
    part.read(buffer.mutable_data_ptr());
    const at::Tensor chunk = buffer.narrow(0, 0, part.length());
    if (!all_finite(chunk)) return false;
    flat.narrow(0, part.begin(), part.length()).copy_(chunk);
  }
  return true;
}

bool stream(const StoredBytes& from, at::ScalarType type, const at::Tensor& destination) {
  const at::Tensor flat = destination.view({-1});
  const bool is_direct = is_plain(flat) && flat.scalar_type() == type;
  return is_direct ? stream_directly(from, flat) : stream_through(from, type, flat);
}

/// Copies and casts `value`. `source` and `name` are for messages.
/// Errors: [weights/not-finite]; earlier elements may have been copied by then.
void copy_checked(const std::string& source, const std::string& name, const at::Tensor& value,
                  const at::Tensor& destination) {
  if (value.dim() == 0 || value.numel() == 0) {
    check_finite(source, name, value);
    destination.copy_(value);
    return;
  }
  const int64_t rows = value.size(0);
  const int64_t step = std::max<int64_t>(1, kChunkElements / (value.numel() / rows));
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t count = std::min(step, rows - begin);
    const at::Tensor view = value.narrow(0, begin, count);
    if (is_plain(view)) map_pages(view.const_data_ptr(), view.nbytes());
    const at::Tensor chunk = view.contiguous();
    if (!all_finite(chunk)) check_finite(source, name, value);  // throws with the index
    copy_chunk(chunk, destination.narrow(0, begin, count));
  }
}

/// Copies from files. Allocates no extra memory, except for slices that are not contiguous in the
/// file. Errors: also [weights/slice], [weights/no-tensor].
void copy_stored(const WeightFiles& files, const StoredPart& part, const at::Tensor& destination) {
  const auto value = [&] {
    return part.slice == nullptr ? files.tensor(part.name) : files.view(part.name, *part.slice);
  };
  const std::optional<StoredBytes> bytes = bytes_of(files, part);
  if (bytes && destination.is_contiguous()) {
    if (!stream(*bytes, part.facts.dtype, destination)) {
      check_finite(files.path(), part.name, value());
    }
    return;
  }
  copy_checked(files.path(), part.name, value(), destination);
  files.release(part.name);
}

using AllFacts = std::map<std::string, TensorFacts>;
using Slices = std::map<std::string, TensorSlice>;

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format("; nearest: '{}'", nearest);
}

/// A tensor of the model and the matching tensor of the checkpoint.
struct Match {
  at::Tensor* member;
  std::string their_name;
  std::optional<TensorSlice> slice = std::nullopt;  // nothing: the full tensor
};

class Matcher {
 public:
  Matcher(const NameMap& names, const AllFacts& theirs, const Slices& slices)
      : names_(names), theirs_(theirs), slices_(slices) {}

  void match_all(const std::vector<NamedTensor>& all) {
    if (!names_.other_spellings.empty()) {
      for (const NamedTensor& ours : all) {
        if (ours.tensor->dim() > 0) rows_[ours.name] = ours.tensor->size(0);
      }
    }
    for (const NamedTensor& ours : all) match(ours);
  }

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
    std::optional<TensorSlice> slice = fused_slice(names_, *name, ours.name, rows_);
    if (slice && !holds(it->second, *name))
      slice.reset();  // reported as a full tensor of other sizes
    if (part != slices_.end()) slice = part->second;
    const std::vector<int64_t> sizes = sizes_of(it->second, slice);
    if (ours.tensor->sizes() == at::IntArrayRef(sizes)) {
      matches_.push_back({ours.tensor, *name, slice});
    } else {
      findings_.push_back(fmt::format(
          "'{}' has shape {}{}, expected {}", *name, shape_text(it->second.sizes),
          !slice ? "" : ", a part " + shape_text(sizes), shape_text(ours.tensor->sizes())));
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
  /// Whether the tensor has exactly the rows of its parts.
  bool holds(const TensorFacts& theirs, const std::string& name) const {
    int64_t rows = 0;
    for (const std::string& part : fused_parts(names_, name)) {
      const auto found = rows_.find(part);
      if (found == rows_.end()) return false;
      rows += found->second;
    }
    return !theirs.sizes.empty() && theirs.sizes[0] == rows;
  }

  static std::vector<int64_t> sizes_of(const TensorFacts& theirs,
                                       const std::optional<TensorSlice>& slice) {
    std::vector<int64_t> sizes = theirs.sizes;
    const bool has_dim =
        slice && slice->dim >= 0 && slice->dim < static_cast<int64_t>(sizes.size());
    if (has_dim) sizes[static_cast<size_t>(slice->dim)] = slice->length;
    return sizes;
  }

  const NameMap& names_;
  const AllFacts& theirs_;
  const Slices& slices_;
  std::map<std::string, int64_t> rows_;  // by our name
  std::vector<std::string> expected_;
  std::vector<std::string> missing_;
  std::vector<std::string> findings_;
  std::vector<Match> matches_;
};

const at::Tensor& destination_of(const Match& match) {
  S2S_ASSERT(!match.member->is_meta(), "weights are loaded after the model has memory");
  return *match.member;
}

StoredPart stored_part(const WeightFiles& files, const Match& match) {
  return {match.their_name, match.slice ? &*match.slice : nullptr,
          files.facts().at(match.their_name)};
}

/// Tensors in files that are matched with members of the model and read later.
class MatchedFiles final : public WeightSource {
 public:
  MatchedFiles(const std::vector<NamedTensor>& ours, const NameMap& names, WeightFiles files)
      : files_(std::move(files)) {
    const Slices none;
    Matcher matcher(names, files_.facts(), none);
    matcher.match_all(ours);
    for (const Match& match : matcher.finish(files_.path())) {
      theirs_.emplace(match.member, match);
    }
  }
  std::vector<const at::Tensor*> members() const override {
    std::vector<const at::Tensor*> members;
    for (const auto& [member, match] : theirs_) members.push_back(member);
    return members;
  }
  void write(const at::Tensor* member, const at::Tensor& destination) const override {
    const at::NoGradGuard no_grad;
    const Match& match = theirs_.at(member);
    copy_stored(files_, stored_part(files_, match), destination);
  }

 private:
  WeightFiles files_;
  std::map<const at::Tensor*, Match> theirs_;
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
  matcher.match_all(ours);
  for (const Match& match : matcher.finish(source)) {
    at::Tensor value = tensors.at(match.their_name);
    if (match.slice)
      value = value.narrow(match.slice->dim, match.slice->begin, match.slice->length);
    copy_checked(source, match.their_name, value, destination_of(match));
  }
}

void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const WeightFiles& files, const std::map<std::string, TensorSlice>& slices) {
  const at::NoGradGuard no_grad;
  Matcher matcher(names, files.facts(), slices);
  matcher.match_all(ours);
  for (const Match& match : matcher.finish(files.path())) {
    copy_stored(files, stored_part(files, match), destination_of(match));
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
  TensorMap ours;
  for (const NamedTensor& tensor : stored_tensors(block))
    ours[tensor.name] = tensor.tensor->detach();
  return with_fused_rows(ours, names);
}

void throw_unsupported_config(const std::string& place, const std::string& key,
                              const std::string& value, const std::string& expected) {
  throw weights_errors::config(place, key, value, expected);
}

}  // namespace s2s
