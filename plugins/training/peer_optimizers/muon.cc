// Muon for matrices, AdamW for the rest.
// Source: torch.optim.Muon (torch/optim/_muon.py) and torch.optim.AdamW; which parameters get
// which: Keller Jordan's Muon.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "whole.h"

namespace s2s::peer_optimizers {
namespace {

struct MuonOptions {
  double lr = 1e-3;
  double momentum = 0.95;
  bool nesterov = true;
  std::vector<double> ns_coefficients = {3.4445, -4.7750, 2.0315};
  double eps = 1e-7;
  int64_t ns_steps = 5;
  std::string adjust_lr_fn = "original";
  std::vector<std::string> adamw_names = {"embed", "head"};
  std::optional<double> adamw_lr, adamw_weight_decay;
  std::vector<double> adamw_betas = {0.9, 0.95};
  double adamw_eps = 1e-8;
  CommonOptions common{.weight_decay = 0.1};
  void visit(OptionVisitor& v) {
    v("lr", lr, "base learning rate", at_least(0));
    v("momentum", momentum, "decay rate of the momentum", between(0, 1));
    v("nesterov", nesterov, "Nesterov's momentum");
    v("ns_coefficients", ns_coefficients, "the three coefficients of the Newton-Schulz iteration");
    v("eps", eps, "least norm by which a matrix is divided", at_least(0));
    v("ns_steps", ns_steps, "Newton-Schulz iterations", between(0, 99));
    v("adjust_lr_fn", adjust_lr_fn,
      "how the rate follows a matrix of A rows and B columns: sqrt(max(1, A / B)), or "
      "0.2 * sqrt(max(A, B)) so that AdamW's rate can be used",
      one_of({"original", "match_rms_adamw"}));
    v("adamw_names", adamw_names,
      "AdamW updates parameters with such a word in their names, and all that are no matrices");
    v("adamw_lr", adamw_lr, "AdamW's base learning rate; null: lr", at_least(0));
    v("adamw_weight_decay", adamw_weight_decay, "AdamW's weight decay; null: weight_decay",
      at_least(0));
    v("adamw_betas", adamw_betas, "AdamW's decay rates", between(0, 1));
    v("adamw_eps", adamw_eps, "AdamW's epsilon", at_least(0));
    common.visit(v, "decoupled weight decay");
  }
};

class Muon final : public WithWholeParameters {
 public:
  explicit Muon(const MuonOptions& options)
      : WithWholeParameters(options.common), options_(options) {}
  double base_learning_rate() const override { return options_.lr; }
  bool is_whole_state(const std::string&) const override { return false; }

 protected:
  void begin(Trained& trained) override {
    if (is_matrix(trained)) {
      trained.states[kMomentum] = zeros_of(trained);
      return;
    }
    if (trained.decays && options_.adamw_weight_decay) {
      trained.weight_decay = *options_.adamw_weight_decay;
    }
    trained.states[kFirst] = zeros_of(trained);
    trained.states[kSecond] = zeros_of(trained);
    trained.states[kStep] = count_of(trained);
  }

  void update(Trained& trained, const at::Tensor& gradient, double learning_rate) override {
    if (!trained.states.contains(kMomentum))
      return update_by_adamw(trained, gradient, learning_rate);
    at::Tensor& momentum = trained.state(kMomentum);
    momentum.lerp_(gradient, 1 - options_.momentum);
    const at::Tensor change =
        options_.nesterov ? gradient.lerp(momentum, options_.momentum) : momentum;
    const at::Tensor whole = gather(trained, change.to(at::kBFloat16));
    const double ratio = rate_ratio(whole.size(0), whole.size(1));
    trained.tensor.mul_(1 - learning_rate * trained.weight_decay);
    trained.tensor.add_(shard_of(trained, orthogonalized(whole)), -learning_rate * ratio);
  }

 private:
  bool is_matrix(const Trained& trained) const {
    return whole_sizes(trained).size() == 2 &&
           std::none_of(options_.adamw_names.begin(), options_.adamw_names.end(),
                        [&](const std::string& word) {
                          return trained.name.find(word) != std::string::npos;
                        });
  }

  double rate_ratio(int64_t num_rows, int64_t num_columns) const {
    const auto rows = static_cast<double>(num_rows), columns = static_cast<double>(num_columns);
    if (options_.adjust_lr_fn == "match_rms_adamw") return 0.2 * std::sqrt(std::max(rows, columns));
    return std::sqrt(std::max(1.0, rows / columns));
  }

  /// The Newton-Schulz iteration, in bfloat16.
  at::Tensor orthogonalized(const at::Tensor& matrix) const {
    const double a = options_.ns_coefficients[0], b = options_.ns_coefficients[1],
                 c = options_.ns_coefficients[2];
    const bool is_tall = matrix.size(0) > matrix.size(1);
    at::Tensor x = is_tall ? matrix.t() : matrix;
    x = x / x.norm().clamp_min(options_.eps);
    for (int64_t i = 0; i < options_.ns_steps; ++i) {
      const at::Tensor gram = x.matmul(x.t());
      x = at::addmm(x, at::addmm(gram, gram, gram, b, c), x, a);
    }
    return is_tall ? x.t() : x;
  }

  void update_by_adamw(Trained& trained, const at::Tensor& gradient, double learning_rate) const {
    if (trained.tensor.numel() == 0) return;
    const double rate = options_.adamw_lr && options_.lr > 0
                            ? learning_rate * (*options_.adamw_lr / options_.lr)
                            : learning_rate;
    trained.state(kStep).add_(1);
    at::_fused_adamw_({trained.tensor}, {gradient}, {trained.state(kFirst)},
                      {trained.state(kSecond)}, {}, {trained.state(kStep)}, rate,
                      options_.adamw_betas[0], options_.adamw_betas[1], trained.weight_decay,
                      options_.adamw_eps, /*amsgrad=*/false, /*maximize=*/false);
  }

  MuonOptions options_;
};

std::unique_ptr<Optimizer> create_muon(const Config& options, const BuildContext& context) {
  const auto read = read_options<MuonOptions>(options, context.path);
  require_count(read.ns_coefficients, 3, "ns_coefficients", "[3.4445, -4.775, 2.0315]", options,
                context);
  require_count(read.adamw_betas, 2, "adamw_betas", "[0.9, 0.95]", options, context);
  if (read.adamw_lr && read.lr == 0) {
    throw conflict_error("adamw_lr is relative to lr, which is 0", "lr above 0, or no adamw_lr",
                         options, context);
  }
  return std::make_unique<Muon>(read);
}

}  // namespace

Component<Optimizer> muon_component() {
  return {
      .name = "muon",
      .summary = "orthogonalized momentum for matrices, as torch.optim.Muon; AdamW for the rest",
      .create = create_muon,
      .options = list_options<MuonOptions>};
}

}  // namespace s2s::peer_optimizers
