// Losses against sums over paths, step by step. tests/reference compares them with NeMo's
// (nemo_asr_train_*).

#include "s2s/nn/transducer_loss.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "s2s/nn/transducer.h"

using Labels = std::vector<int64_t>;

namespace {

constexpr int64_t kBlank = 4;  // of a vocabulary of four labels

/// A batch of three texts: of seven, five and two frames.
struct Texts {
  std::vector<Labels> labels;
  Labels frames{7, 5, 2};

  s2s::RecognitionTargets targets() const {
    const at::Tensor labels_AU = at::full({3, 3}, 9, at::kLong);  // no label beyond a text
    Labels lengths;
    for (size_t a = 0; a < labels.size(); ++a) {
      lengths.push_back(static_cast<int64_t>(labels[a].size()));
      labels_AU[static_cast<int64_t>(a)].narrow(0, 0, lengths.back()).copy_(at::tensor(labels[a]));
    }
    return {labels_AU, at::tensor(frames, at::kLong), at::tensor(lengths, at::kLong), kBlank};
  }
};

const Texts kTexts{{{0, 1, 1}, {}, {3, 2}}};

/// The loss of one text, with a graph: scores [T, U + 1, V + D] in double.
at::Tensor sum_over_paths(const at::Tensor& scores, const Labels& text,
                          const s2s::TransducerSteps& steps) {
  const bool is_rnnt = steps.durations.empty();
  const at::Tensor label_log = at::log_softmax(scores.narrow(2, 0, kBlank + 1), 2) - steps.sigma;
  const auto num_durations = static_cast<int64_t>(steps.durations.size());
  const at::Tensor jump_log = is_rnnt
                                  ? at::zeros({1}, at::kDouble)
                                  : at::log_softmax(scores.narrow(2, kBlank + 1, num_durations), 2);
  const int64_t frames = scores.size(0), last = static_cast<int64_t>(text.size());
  std::vector<std::vector<at::Tensor>> alpha(
      static_cast<size_t>(frames + 1), std::vector<at::Tensor>(static_cast<size_t>(last + 1)));
  alpha[0][0] = at::zeros({}, at::kDouble);
  for (int64_t t = 0; t < frames; ++t) {
    for (int64_t u = 0; u <= last; ++u) {
      const at::Tensor here = alpha[static_cast<size_t>(t)][static_cast<size_t>(u)];
      if (!here.defined()) continue;
      const auto go = [&](int64_t jump, int64_t to, const at::Tensor& step) {
        const int64_t arrives = t + jump;
        const bool is_blank = to == u;
        if (is_blank ? jump == 0 || arrives > frames || (arrives == frames && u != last)
                     : arrives >= frames) {
          return;
        }
        at::Tensor& sum = alpha[static_cast<size_t>(arrives)][static_cast<size_t>(to)];
        sum = sum.defined() ? at::logaddexp(sum, here + step) : here + step;
      };
      const at::Tensor blank = label_log[t][u][kBlank];
      const at::Tensor label =
          u < last ? label_log[t][u][text[static_cast<size_t>(u)]] : at::Tensor();
      if (is_rnnt) {
        go(1, u, blank);
        if (u < last) go(0, u + 1, label);
      }
      for (int64_t d = 0; d < num_durations; ++d) {
        const int64_t jump = steps.durations[static_cast<size_t>(d)];
        go(jump, u, blank + jump_log[t][u][d]);
        if (u < last) go(jump, u + 1, label + jump_log[t][u][d]);
      }
    }
  }
  const at::Tensor& total = alpha[static_cast<size_t>(frames)][static_cast<size_t>(last)];
  return total.defined() ? -total : 0 * scores.sum();
}

/// Scores [A, T, U + 1, V + D], as wide as the largest text.
at::Tensor random_scores(int64_t num_outputs) {
  at::manual_seed(4);
  return at::randn({3, 7, 4, num_outputs}) * 2;
}

}  // namespace

TEST_CASE("a transducer's loss and its gradient are those of the sum over all paths") {
  const std::vector<s2s::TransducerSteps> all = {
      {}, {{0, 1, 2}, 0.05}, {{1, 2}, 0.0}, {{3, 0, 1, 9}, 0.1}, {{0, 1}, 0.0}};
  for (const s2s::TransducerSteps& steps : all) {
    CAPTURE(steps.durations.size());
    const at::Tensor values = random_scores(5 + static_cast<int64_t>(steps.durations.size()));
    const at::Tensor scores = values.clone().set_requires_grad(true);
    const at::Tensor weight_A = at::tensor({1.0F, -0.5F, 2.0F});
    const at::Tensor found_A = s2s::transducer_loss(scores, kTexts.targets(), steps);
    (found_A * weight_A).sum().backward();
    const at::Tensor exact = values.to(at::kDouble).set_requires_grad(true);
    std::vector<at::Tensor> rows;
    for (int64_t a = 0; a < 3; ++a) {
      const Labels& text = kTexts.labels[static_cast<size_t>(a)];
      const at::Tensor own = exact[a]
                                 .narrow(0, 0, kTexts.frames[static_cast<size_t>(a)])
                                 .narrow(1, 0, static_cast<int64_t>(text.size()) + 1);
      rows.push_back(sum_over_paths(own, text, steps));
    }
    const at::Tensor expected_A = at::stack(rows);
    (expected_A * weight_A).sum().backward();
    CHECK(at::allclose(found_A.to(at::kDouble), expected_A, 1e-5, 1e-5));
    CHECK(at::allclose(scores.grad().to(at::kDouble), exact.grad(), 1e-5, 1e-6));
    const at::NoGradGuard no_grad;
    CHECK(at::equal(s2s::transducer_loss(values, kTexts.targets(), steps), found_A));
  }
}

TEST_CASE("a text that no path gives has no loss and no gradient") {
  // Two frames at a time never end after seven or five.
  const s2s::TransducerSteps steps{{2}, 0.0};
  const at::Tensor scores = random_scores(6).set_requires_grad(true);
  const at::Tensor found_A = s2s::transducer_loss(scores, kTexts.targets(), steps);
  found_A.sum().backward();
  CHECK(found_A[0].item<float>() == 0);
  CHECK(found_A[1].item<float>() == 0);
  CHECK(scores.grad().isfinite().all().item<bool>());
  CHECK(scores.grad().abs().max().item<float>() == 0);
}

TEST_CASE("scores that are no numbers give a loss that is none") {
  at::Tensor scores = random_scores(5);
  scores[0][1][1][2] = std::nan("");
  CHECK(s2s::transducer_loss(scores, kTexts.targets(), {})[0].isnan().item<bool>());
}

TEST_CASE("scores in bfloat16 get a gradient of their type") {
  const at::Tensor scores = random_scores(5).to(at::kBFloat16).set_requires_grad(true);
  const at::Tensor exact = scores.detach().to(at::kFloat).set_requires_grad(true);
  s2s::transducer_loss(scores, kTexts.targets(), {}).sum().backward();
  s2s::transducer_loss(exact, kTexts.targets(), {}).sum().backward();
  CHECK((scores.grad().scalar_type() == at::kBFloat16));
  CHECK(at::equal(scores.grad(), exact.grad().to(at::kBFloat16)));
}

TEST_CASE("CTC's loss is torch's, and 0 for a text that is too long") {
  at::manual_seed(5);
  const at::Tensor scores = at::randn({3, 7, 5}).set_requires_grad(true);
  const s2s::RecognitionTargets targets =
      Texts{{{0, 1, 1}, {}, {3, 2, 1}}}.targets();  // of two frames: too long
  const at::Tensor found_A = s2s::ctc_loss(scores, targets);
  found_A.sum().backward();
  const at::Tensor log_TV = at::log_softmax(scores.detach()[0], 1);
  const at::Tensor alone =
      at::ctc_loss(log_TV.unsqueeze(1), at::tensor(Labels{0, 1, 1}).unsqueeze(0),
                   at::tensor(Labels{7}), at::tensor(Labels{3}), kBlank, at::Reduction::None);
  CHECK(at::allclose(found_A[0], alone[0]));
  CHECK(at::allclose(
      found_A[1], -at::log_softmax(scores.detach()[1], 1).select(1, kBlank).narrow(0, 0, 5).sum()));
  CHECK(found_A[2].item<float>() == 0);
  CHECK(scores.grad()[2].abs().max().item<float>() == 0);
  CHECK(s2s::ctc_loss(scores, targets, /*zero_infinity=*/false)[2].isinf().item<bool>());
  const Texts silent{{{}, {}, {}}};
  CHECK(s2s::ctc_loss(scores, {at::zeros({3, 0}, at::kLong), silent.targets().frames_A,
                               silent.targets().lengths_A, kBlank})
            .gt(0)
            .all()
            .item<bool>());
}

TEST_CASE("a trained transducer has parameters, and finds what its training networks score best") {
  s2s::TransducerOptions sizes;
  sizes.vocabulary = {"a", "b", "c", "d"};
  sizes.pred_hidden = sizes.joint_hidden = 8;
  sizes.pred_rnn_layers = 2;
  sizes.begins_with_zeros = true;
  s2s::TransducerDecoder decoder(sizes, 6, "", s2s::DecoderWeights::kTrained);
  decoder.materialize(at::kCPU, at::kFloat, 3);
  CHECK(decoder.named_buffers().empty());
  CHECK(decoder.named_parameters().size() == 15);
  at::manual_seed(6);
  const at::Tensor frames_ATD = at::randn({1, 9, 6}) * 3;
  const s2s::FoundLabels found = decoder.search(frames_ATD, at::tensor(Labels{9}))[0];
  REQUIRE(found.labels.size() > 2);
  const at::NoGradGuard no_grad;
  const at::Tensor scores_TUV = decoder
                                    .joint(decoder.project_frames(frames_ATD),
                                           decoder.project_predictions(decoder.predictions(
                                               at::tensor(found.labels).unsqueeze(0))))
                                    .squeeze(0);
  for (size_t u = 0; u < found.labels.size(); ++u) {
    CHECK(scores_TUV[found.frames[u]][static_cast<int64_t>(u)].argmax().item<int64_t>() ==
          found.labels[u]);
  }
}
