// The transducer is compared with NeMo's by tests/reference (llama_asr_decoder).

#include "s2s/nn/transducer.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using Labels = std::vector<int64_t>;

namespace {

/// A network whose scores are those of its last bias, whatever it receives: two labels, the blank
/// and the durations.
std::unique_ptr<s2s::TransducerDecoder> constant_decoder(const s2s::TransducerOptions& sizes,
                                                         const at::Tensor& scores) {
  auto decoder = std::make_unique<s2s::TransducerDecoder>(sizes, 4, "");
  decoder->materialize(at::kCPU, at::kFloat, 0);
  for (const s2s::NamedTensor& buffer : decoder->named_buffers()) {
    if (buffer.name == "out.bias") buffer.tensor->copy_(scores);
  }
  return decoder;
}

s2s::TransducerOptions small_sizes(std::vector<int64_t> durations) {
  s2s::TransducerOptions sizes;
  sizes.vocabulary = {"a", "b"};
  sizes.durations = std::move(durations);
  sizes.pred_hidden = sizes.joint_hidden = 4;
  sizes.max_symbols = 2;
  return sizes;
}

}  // namespace

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

TEST_CASE("a search stays at a frame for so many labels, and each audio ends at its length") {
  const at::Tensor frames_ATD = at::zeros({2, 3, 4}), lengths_A = at::tensor({3, 1}, at::kLong);
  // RNN-T: label 1 is best everywhere.
  const auto rnnt = constant_decoder(small_sizes({}), at::tensor({0.0F, 2.0F, 1.0F}));
  const auto found = rnnt->search(frames_ATD, lengths_A);
  CHECK(found[0].labels == Labels{1, 1, 1, 1, 1, 1});
  CHECK(found[0].frames == Labels{0, 0, 1, 1, 2, 2});
  CHECK(found[1].frames == Labels{0, 0});
  // TDT: the same label, with a duration of 0, then of 2; a jump may end beyond the audio.
  const auto stays =
      constant_decoder(small_sizes({0, 2}), at::tensor({0.0F, 2.0F, 1.0F, 1.0F, 0.0F}));
  CHECK(stays->search(frames_ATD, lengths_A)[0].frames == Labels{0, 0, 1, 1, 2, 2});
  const auto jumps =
      constant_decoder(small_sizes({0, 2}), at::tensor({0.0F, 2.0F, 1.0F, 0.0F, 1.0F}));
  CHECK(jumps->search(frames_ATD, lengths_A)[0].frames == Labels{0, 2});
  CHECK(jumps->search(frames_ATD, lengths_A)[1].frames == Labels{0});
}

TEST_CASE("a blank goes on, and transformers' limit is one of steps") {
  const at::Tensor frames_ATD = at::zeros({1, 3, 4}), lengths_A = at::tensor({3}, at::kLong);
  // A blank of duration 0 counts as 1.
  const auto blanks =
      constant_decoder(small_sizes({0, 2}), at::tensor({0.0F, 1.0F, 2.0F, 1.0F, 0.0F}));
  CHECK(blanks->search(frames_ATD, lengths_A)[0].labels.empty());
  s2s::TransducerOptions sizes = small_sizes({0, 2});
  sizes.limits_steps = true;
  sizes.blank = 0;
  const auto stays = constant_decoder(sizes, at::tensor({0.0F, 1.0F, 2.0F, 1.0F, 0.0F}));
  const auto found = stays->search(frames_ATD, lengths_A);
  CHECK(found[0].labels == Labels{2, 2, 2, 2, 2});
  CHECK(found[0].frames == Labels{0, 0, 0, 0, 0});
  CHECK(stays->search(frames_ATD.narrow(1, 0, 0), lengths_A)[0].labels.empty());
}
