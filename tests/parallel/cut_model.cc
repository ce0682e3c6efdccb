#include "parallel/cut_model.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "s2s/error.h"
#include "weights/tensor_runs.h"

namespace s2s::test {
namespace {

/// Where the r-th of `size` uneven parts of n things begins; the first are small or empty.
int64_t uneven(int64_t n, int64_t r, int64_t size) { return n * r * r / (size * size); }

TensorSpan flat_cut(int64_t n, int64_t r, int64_t size) {
  const int64_t begin = uneven(n, r, size);
  return {begin, uneven(n, r + 1, size) - begin};
}

std::vector<TensorSpan> columns(const std::vector<int64_t>& sizes, int64_t r, int64_t size) {
  const TensorSpan cut = flat_cut(sizes[1], r, size);
  std::vector<TensorSpan> spans;
  for (int64_t row = 0; row < sizes[0] && cut.count > 0; ++row) {
    spans.push_back({row * sizes[1] + cut.begin, cut.count});
  }
  return spans;
}

/// Elements begin .. begin + count - 1 of those that `spans` are.
std::vector<TensorSpan> part_of(const std::vector<TensorSpan>& spans, TensorSpan wanted) {
  std::vector<TensorSpan> out;
  for (const TensorSpan& span : spans) {
    const int64_t skipped = std::min(wanted.begin, span.count);
    const int64_t count = std::min(wanted.count, span.count - skipped);
    if (count > 0) out.push_back({span.begin + skipped, count});
    wanted.begin -= skipped;
    wanted.count -= count;
  }
  return out;
}

void cut(LocalShard& part, const CutRank& place) {
  const int64_t numel = count_elements(part.sizes);
  const bool has_columns = part.sizes.size() == 2 && numel > 0;
  const auto [how, rank, size] = place;
  if (how == Cut::kFlat) {
    part.spans = {flat_cut(numel, rank, size)};
  } else if (how == Cut::kColumns && has_columns) {
    part.spans = columns(part.sizes, rank, size);
  } else if (how == Cut::kFlatColumns && has_columns) {
    const int64_t groups = std::min<int64_t>(2, size), members = size / groups;
    const std::vector<TensorSpan> of_group = columns(part.sizes, rank % groups, groups);
    part.spans = part_of(of_group, flat_cut(count_elements(of_group), rank / groups, members));
  } else {
    part.spans = {{0, numel}};
    part.is_owner = rank == 0;
  }
}

void fill(const LocalShard& part, const std::string& name, int64_t seed) {
  const at::NoGradGuard no_grad;
  std::vector<double> values;
  for (const TensorSpan& span : part.spans) {
    for (int64_t i = span.begin; i < span.begin + span.count; ++i) {
      values.push_back(cut_value(name, i, seed));
    }
  }
  part.tensor.view({-1}).copy_(at::tensor(values, at::kDouble));
}

std::string wrong_in(const LocalShard& part, const std::string& name, int64_t seed) {
  const at::Tensor values = part.tensor.view({-1}).to(at::kDouble).contiguous();
  const auto* next = values.const_data_ptr<double>();
  for (const TensorSpan& span : part.spans) {
    for (int64_t i = span.begin; i < span.begin + span.count; ++i, ++next) {
      const double expected = cut_value(name, i, seed);
      if (*next != expected) {
        return fmt::format("{}[{}] is {}, expected {}", name, i, *next, expected);
      }
    }
  }
  return "";
}

}  // namespace

CutModel::CutModel(bool has_late) {
  const Init init;
  register_parameter("big", big_, {1100, 1024}, init);
  register_parameter("wide", wide_, {3, 17}, init);
  register_parameter("tied", wide_, {3, 17}, init);  // listed once
  register_parameter("wide.bias", bias_, {3}, init);
  register_parameter("half", half_, {6, 5}, init);
  register_parameter("scale", scale_, {}, init);
  register_parameter("none", none_, {0, 4}, init);
  register_buffer("count", count_);
  if (has_late) register_buffer("late", late);
}

double cut_value(const std::string& name, int64_t i, int64_t seed) {
  uint64_t hash = std::hash<std::string>{}(name) + static_cast<uint64_t>(seed) * 977;
  hash = (hash ^ static_cast<uint64_t>(i)) * 0x9E3779B97F4A7C15U;
  return static_cast<double>(hash >> 57U) - 64;
}

std::vector<LocalShard> cut_parts(CutModel& model, const CutRank& place, int64_t seed) {
  std::vector<LocalShard> parts;
  for (const NamedTensor& parameter : model.named_parameters()) {
    LocalShard part{parameter.name, parameter.sizes, {}, {}};
    cut(part, place);
    const auto type = parameter.name == "half" ? at::kBFloat16 : at::kFloat;
    part.tensor = at::empty({count_elements(part.spans)}, type);
    fill(part, part.name, seed);
    parts.push_back(std::move(part));
  }
  LocalShard count{"count", {2}, {{0, 2}}, at::empty({2}, at::kLong), place.rank == 0};
  fill(count, "count", seed);
  parts.push_back(std::move(count));
  return parts;
}

std::string find_wrong(const std::vector<LocalShard>& parts, int64_t seed) {
  for (const LocalShard& part : parts) {
    const std::string wrong = wrong_in(part, part.name, seed);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

CutOptimizer::CutOptimizer(const std::vector<LocalShard>& parts, int64_t seed) {
  for (const LocalShard& part : parts) {
    if (!part.tensor.is_floating_point()) continue;
    for (const char* suffix : {".exp_avg", ".exp_avg_sq"}) {
      LocalShard moment = part;
      moment.name += suffix;
      moment.tensor = at::empty({part.tensor.numel()}, at::kFloat);
      fill(moment, moment.name, seed);
      state_[moment.name] = moment.tensor;
      moments_.push_back(std::move(moment));
    }
    state_[part.name + ".step"] = at::full({}, static_cast<double>(seed), at::kFloat);
  }
}

void CutOptimizer::restore(const TensorMap& state) {
  std::vector<std::string> differences;
  for (auto& [name, tensor] : state_) {
    const auto found = state.find(name);
    if (found == state.end()) {
      differences.push_back("missing: " + name);
    } else if (found->second.sizes() != tensor.sizes()) {
      differences.push_back("another size: " + name);
    } else {
      tensor.copy_(found->second);
    }
  }
  for (const auto& [name, tensor] : state) {
    if (state_.count(name) == 0) differences.push_back("not expected: " + name);
  }
  if (!differences.empty()) throw std::runtime_error(differences.front());
}

std::string CutOptimizer::find_wrong(int64_t seed) const {
  for (const auto& [name, tensor] : state_) {
    if (tensor.dim() == 0 && tensor.item<double>() != static_cast<double>(seed)) return name;
  }
  return test::find_wrong(moments_, seed);
}

}  // namespace s2s::test
