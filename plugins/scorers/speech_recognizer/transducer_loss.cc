#include "transducer_loss.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace s2s::speech_recognizer {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b)).
double log_sum(double a, double b) {
  const double high = std::max(a, b);
  return high == kNever ? kNever : high + std::log1p(std::exp(std::min(a, b) - high));
}

}  // namespace

double transducer_loss(const TransducerRow& row) {
  const at::Tensor scores = row.scores_TUV.to(at::kCPU, at::kDouble);
  const auto num_durations = static_cast<int64_t>(row.durations.size());
  const int64_t num_labels = scores.size(2) - num_durations;
  const bool is_rnnt = row.durations.empty();
  const at::Tensor label_log =
      at::log_softmax(scores.narrow(2, 0, num_labels), 2).contiguous() - row.sigma;
  const at::Tensor jump_log =
      is_rnnt ? at::zeros({scores.size(0), scores.size(1), 1}, at::kDouble)
              : at::log_softmax(scores.narrow(2, num_labels, num_durations), 2).contiguous();
  const auto label = label_log.accessor<double, 3>(), jump = jump_log.accessor<double, 3>();
  const int64_t frames = scores.size(0), texts = static_cast<int64_t>(row.labels.size());
  std::vector<std::vector<double>> alpha(
      static_cast<size_t>(frames + 1), std::vector<double>(static_cast<size_t>(texts + 1), kNever));
  alpha[0][0] = 0;
  // Of an RNN-T, a blank goes on by a frame and a label stays.
  const std::vector<int64_t> blank_jumps = is_rnnt ? std::vector<int64_t>{1} : row.durations;
  const std::vector<int64_t> label_jumps = is_rnnt ? std::vector<int64_t>{0} : row.durations;
  for (int64_t t = 0; t < frames; ++t) {
    for (int64_t u = 0; u <= texts; ++u) {
      const double here = alpha[static_cast<size_t>(t)][static_cast<size_t>(u)];
      if (here == kNever) continue;
      const auto go = [&](const std::vector<int64_t>& jumps, int64_t to, double step,
                          bool is_blank) {
        for (size_t d = 0; d < jumps.size(); ++d) {
          const int64_t arrives = t + jumps[d];
          if (is_blank && (jumps[d] == 0 || arrives > frames)) continue;
          if (is_blank && arrives == frames && u != texts) continue;
          if (!is_blank && arrives >= frames) continue;
          double& sum = alpha[static_cast<size_t>(arrives)][static_cast<size_t>(to)];
          sum = log_sum(sum, here + step + jump[t][u][static_cast<int64_t>(d)]);
        }
      };
      go(blank_jumps, u, label[t][u][row.blank], true);
      if (u < texts) {
        go(label_jumps, u + 1, label[t][u][row.labels[static_cast<size_t>(u)]], false);
      }
    }
  }
  return -alpha[static_cast<size_t>(frames)][static_cast<size_t>(texts)];
}

}  // namespace s2s::speech_recognizer
