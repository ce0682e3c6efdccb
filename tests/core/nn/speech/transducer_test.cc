// The transducer is compared with NeMo's by tests/reference (llama_asr_decoder).

#include "s2s/nn/transducer.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using Labels = std::vector<int64_t>;

TEST_CASE("CTC drops repetitions and blanks, and reads each audio up to its length") {
  // Labels 0 and 1; 2 is the blank.
  const at::Tensor best_AT =
      at::tensor({2, 0, 0, 2, 0, 1, 1, 1, 1, 2, 1, 0, 0, 0}, at::kLong).view({2, 7});
  const at::Tensor scores_ATV = at::one_hot(best_AT, 3).to(at::kFloat);
  const auto labels = s2s::ctc_labels(scores_ATV, at::tensor({7, 4}, at::kLong));
  REQUIRE(labels.size() == 2);
  CHECK(labels[0] == Labels{0, 0, 1});
  CHECK(labels[1] == Labels{1, 1});
}

TEST_CASE("labels are joined to a text, and pieces have blanks between words") {
  CHECK(s2s::text_of_labels({"\u2581he", "llo", "\u2581you"}, {0, 1, 2}) == "hello you");
  CHECK(s2s::text_of_labels({" ", "a", "b"}, {1, 0, 2}) == "a b");
  CHECK(s2s::text_of_labels({"a"}, {}).empty());
}
