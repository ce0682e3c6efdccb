#pragma once
// Linear maps with one matrix per codebook, and the cross entropy of their logits. Shape letters: N
// frames, K codebooks, V vocabulary.

#include <map>
#include <string>
#include <vector>

#include "s2s/kinds/model.h"
#include "s2s/nn/block.h"
#include "s2s/nn/vocabulary.h"

namespace s2s::two_level {

/// Maps position t of each row with the matrix of book `first` + t: [N, T, in] -> [N, T, out].
/// weight: [books, out, in], or [books, in, out] if the source stores inputs first.
class BookLinear : public BlockOf<int64_t> {
 public:
  enum class Order { kOutputsFirst, kInputsFirst };
  BookLinear(int64_t books, int64_t in, int64_t out, Init init, Order order = Order::kOutputsFirst);
  ~BookLinear() override;
  at::Tensor weight;
  /// One head per book. To compute logits, read the weight without calling the hook.
  std::vector<HeadWeight> heads();

 protected:
  at::Tensor forward(const at::Tensor& x_NTI, int64_t first) override;

 private:
  Order order_;
};

/// Logits [N, K, V] of states [N, K, H], book k with head k.
at::Tensor book_logits(const at::Tensor& states_NKH, const std::vector<HeadWeight>& heads);

/// The labels of frames' books, and the states that predict them.
struct BookLabels {
  at::Tensor states_NKH;  // position k of a frame predicts book k
  at::Tensor labels_NK;   // int64; valid codes even where the weight is 0
  at::Tensor weights_NK;  // float32
};

/// The sum over books and frames of weight * cross entropy. Heads must be defined.
at::Tensor book_loss_sum(const BookLabels& books, const std::vector<HeadWeight>& heads);

/// Adds `name`_loss and `name`_accuracy, and those of each book (`name`_loss_K), as sums over
/// frames with a weight above 0. `first`: the number of the first book.
void add_book_metrics(const BookLabels& books, const std::vector<HeadWeight>& heads,
                      const std::string& name, int64_t first, MetricSums& sums);

/// Adds the sums of loss and accuracy of one head: x [N, H], labels [N] int64, weights [N] float32.
void add_head_metrics(const at::Tensor& x_NH, const HeadWeight& head, const at::Tensor& labels_N,
                      const at::Tensor& weights_N, const std::string& name, MetricSums& sums);

}  // namespace s2s::two_level
