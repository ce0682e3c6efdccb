#include "book_linear.h"

#include <ATen/ATen.h>

#include "s2s/error.h"
#include "s2s/model_parts.h"
#include "s2s/nn/losses.h"

namespace s2s::two_level {

BookLinear::BookLinear(int64_t books, int64_t in, int64_t out, Init init, Order order)
    : order_(order) {
  const bool outputs_first = order == Order::kOutputsFirst;
  register_parameter("weight", weight, {books, outputs_first ? out : in, outputs_first ? in : out},
                     init);
}

BookLinear::~BookLinear() = default;

at::Tensor BookLinear::forward(const at::Tensor& x_NTI, int64_t first) {
  const int64_t count = x_NTI.size(1);
  S2S_ASSERT(first + count <= weight.size(0), "every position has a book");
  const at::Tensor part = weight.narrow(0, first, count);
  const at::Tensor in_first = order_ == Order::kOutputsFirst ? part.transpose(1, 2) : part;
  return at::bmm(x_NTI.transpose(0, 1), in_first).transpose(0, 1);
}

std::vector<HeadWeight> BookLinear::heads() {
  if (hooks() != nullptr) hooks()->use(*this);
  std::vector<HeadWeight> heads;
  // unbind's backward fills the whole gradient once; select would fill one per book.
  for (const at::Tensor& book : weight.unbind(0)) {
    heads.push_back({order_ == Order::kOutputsFirst ? book : book.t().contiguous(), {}, nullptr});
  }
  return heads;
}

at::Tensor book_logits(const at::Tensor& states_NKH, const std::vector<HeadWeight>& heads) {
  std::vector<at::Tensor> logits;
  for (size_t k = 0; k < heads.size(); ++k) {
    logits.push_back(head_logits(states_NKH.select(1, static_cast<int64_t>(k)), heads[k]));
  }
  return at::stack(logits, 1);
}

at::Tensor book_loss_sum(const BookLabels& books, const std::vector<HeadWeight>& heads) {
  S2S_ASSERT(static_cast<int64_t>(heads.size()) == books.labels_NK.size(1), "a head per book");
  at::Tensor sum;
  for (size_t k = 0; k < heads.size(); ++k) {
    const auto book = static_cast<int64_t>(k);
    const at::Tensor loss =
        linear_cross_entropy(books.states_NKH.select(1, book).contiguous(), heads[k],
                             books.labels_NK.narrow(1, book, 1).contiguous(),
                             books.weights_NK.narrow(1, book, 1).contiguous());
    sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

void add_head_metrics(const at::Tensor& x_NH, const HeadWeight& head, const at::Tensor& labels_N,
                      const at::Tensor& weights_N, const std::string& name, MetricSums& sums) {
  const at::Tensor labels_N1 = labels_N.unsqueeze(1).contiguous();
  const CrossEntropyRows rows = linear_cross_entropy_rows(x_NH.contiguous(), head, labels_N1);
  const at::Tensor counted_N = weights_N.gt(0);
  add_sum(sums, name + "_loss", rows.loss_NK.squeeze(1), counted_N);
  add_sum(sums, name + "_accuracy", rows.predicted_NK.eq(labels_N1).squeeze(1), counted_N);
}

void add_book_metrics(const BookLabels& books, const std::vector<HeadWeight>& heads,
                      const std::string& name, int64_t first, MetricSums& sums) {
  for (size_t k = 0; k < heads.size(); ++k) {
    const auto book = static_cast<int64_t>(k);
    MetricSums own;
    add_head_metrics(books.states_NKH.select(1, book), heads[k], books.labels_NK.select(1, book),
                     books.weights_NK.select(1, book), name, own);
    for (const auto& [metric, sum] : own) {
      for (const std::string& key : {metric, metric + "_" + std::to_string(first + book)}) {
        sums[key].first += sum.first;
        sums[key].second += sum.second;
      }
    }
  }
}

}  // namespace s2s::two_level
