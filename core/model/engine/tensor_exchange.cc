#include "engine/tensor_exchange.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "s2s/error.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Exchanging : torch::CustomClassHolder {
  ExchangePair pair;
  Communicator* ranks = nullptr;
  int64_t length = 0;
  std::string name;
};

constexpr int64_t kPositions = -2;

at::Tensor sum(const at::Tensor& x, const Exchanging& how, const std::string& name) {
  at::Tensor total = x.clone(at::MemoryFormat::Contiguous);
  how.ranks->all_reduce(total, Reduction::kSum, name).wait();
  return total;
}

at::Tensor gather(const at::Tensor& x, const Exchanging& how, const std::string& name) {
  const at::Tensor mine = x.contiguous();
  std::vector<int64_t> sizes = mine.sizes().vec();
  const auto dim = static_cast<int64_t>(sizes.size()) + kPositions;
  sizes.insert(sizes.begin(), how.ranks->size());
  const at::Tensor parts = at::empty(sizes, mine.options());
  how.ranks->all_gather(parts, mine, name).wait();
  const at::Tensor whole = parts.movedim(0, dim).flatten(dim, dim + 1);
  return whole.narrow(dim, 0, how.length).contiguous();
}

at::Tensor padded(const at::Tensor& x, int64_t length) {
  const int64_t missing = length - x.size(kPositions);
  return missing == 0 ? x : at::constant_pad_nd(x, {0, 0, 0, missing});
}

/// A copy, so that the full tensor can be freed.
at::Tensor slice(const at::Tensor& x, const Exchanging& how) {
  const int64_t per_rank = positions_per_rank(how.length, how.ranks->size());
  const int64_t begin = std::min(how.length, how.ranks->rank() * per_rank);
  const int64_t count = std::min(per_rank, how.length - begin);
  const at::Tensor mine = x.narrow(kPositions, begin, count);
  if (count < per_rank) return padded(mine, per_rank).contiguous();
  return mine.clone(at::MemoryFormat::Contiguous);
}

at::Tensor sum_slice(const at::Tensor& x, const Exchanging& how, const std::string& name) {
  const int64_t per_rank = positions_per_rank(how.length, how.ranks->size());
  const int64_t dim = x.dim() + kPositions;
  const at::Tensor parts = padded(x, per_rank * how.ranks->size())
                               .unflatten(dim, {how.ranks->size(), per_rank})
                               .movedim(dim, 0)
                               .contiguous();
  const at::Tensor mine = at::empty(parts.sizes().slice(1), parts.options());
  how.ranks->reduce_scatter(mine, parts, Reduction::kSum, name).wait();
  return mine;
}

at::Tensor run(const at::Tensor& x, Exchange what, const Exchanging& how, const std::string& name) {
  S2S_ASSERT(what == Exchange::kNothing || what == Exchange::kSum || x.dim() >= 2,
             "split positions are the dim before the last");
  switch (what) {
    case Exchange::kNothing:
      return x;
    case Exchange::kSum:
      return sum(x, how, name);
    case Exchange::kGather:
      return gather(x, how, name);
    case Exchange::kSlice:
      return slice(x, how);
    case Exchange::kSumSlice:
      return sum_slice(x, how, name);
  }
  return x;
}

class ExchangeFunction : public torch::autograd::Function<ExchangeFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const c10::intrusive_ptr<Exchanging>& how) {
    context->saved_data["how"] = c10::IValue::make_capsule(how);
    return run(x, how->pair.forward, *how, how->name);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const auto capsule = context->saved_data["how"].toCapsule();
    const auto& how = static_cast<const Exchanging&>(*capsule);
    return {run(outputs[0], how.pair.backward, how, how.name + " backward"), {}};
  }
};

}  // namespace

int64_t positions_per_rank(int64_t length, int64_t num_ranks) {
  return (length + num_ranks - 1) / num_ranks;
}

at::Tensor exchange(const at::Tensor& x, const ExchangePair& pair, Communicator& ranks,
                    int64_t length, const std::string& name) {
  auto how = c10::make_intrusive<Exchanging>();
  how->pair = pair;
  how->ranks = &ranks;
  how->length = length;
  how->name = name;
  return ExchangeFunction::apply(x, how);
}

}  // namespace s2s
