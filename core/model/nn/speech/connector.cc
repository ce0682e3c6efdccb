#include "nn/speech/connector.h"

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/nn/rows.h"

namespace s2s {

Connector::~Connector() = default;

void throw_connector(const std::string& key, const std::string& value,
                     const std::string& expected) {
  throw Error(ExitCode::kConfig, "model/connector",
              "model.modality_adapter." + key + " = " + value +
                  " is not possible\n  expected: " + expected);
}

namespace {

/// Whole linear layers, each a unit.
ShardPlan linear_plan(const std::string& name, const std::vector<std::string>& layers) {
  ShardPlan plan;
  for (const std::string& layer : layers) {
    plan.rows.push_back({name + "." + layer, Style::kReplicate, Layout::kFull, Layout::kFull});
    plan.units.push_back({name + "." + layer});
  }
  return plan;
}

class ConformerConnector final : public Connector {
 public:
  explicit ConformerConnector(const Config& options)
      : conformer_(read_options<ConformerOptions>(options, kPath), kPath) {}
  Block& block() override { return conformer_; }
  Frames connect(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override {
    return conformer_.forward(x_BTF, lengths_B);
  }
  int64_t output_frames(int64_t num_frames) const override {
    return conformer_.output_frames(num_frames);
  }
  int64_t output_dim() const override { return conformer_.output_dim(); }
  int64_t stride() const override { return conformer_.subsampling_factor(); }
  std::unique_ptr<FrameStream> open_stream(int64_t batch_size) override {
    return conformer_.open_stream(batch_size);
  }
  ShardPlan configure_model(const std::string& name) const override {
    return conformer_.configure_model().nested_under(name);
  }

 private:
  static constexpr const char* kPath = "model.modality_adapter.conformer";
  ConformerEncoder conformer_;
};

/// One projection of all outputs of the encoder, side by side.
/// Source: NeMo, MultiLayerProjectionConnector.
class MultiLayerProjection final : public Connector, public Block {
 public:
  MultiLayerProjection(int64_t input_dim, int64_t output_dim)
      : output_dim_(output_dim), proj_(input_dim, output_dim) {
    register_block("proj", proj_);
  }
  Block& block() override { return *this; }
  Frames connect(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override {
    return {proj_(x_BTF), lengths_B};
  }
  int64_t output_dim() const override { return output_dim_; }
  std::unique_ptr<FrameStream> open_stream(int64_t) override {
    return std::make_unique<Live>(proj_);
  }
  ShardPlan configure_model(const std::string& name) const override {
    return linear_plan(name, {"proj"});
  }

 private:
  struct Live final : FrameStream {
    explicit Live(Linear& by) : proj(by) {}
    at::Tensor push(const at::Tensor& x_BTF) override {
      rows = x_BTF.size(0);
      return proj(x_BTF);
    }
    at::Tensor finish() override {
      return at::empty({rows, 0, proj.weight.size(0)}, proj.weight.options());
    }
    Linear& proj;
    int64_t rows = 1;
  };
  int64_t output_dim_;
  Linear proj_;
};

at::Tensor activated(const at::Tensor& x, const std::string& activation) {
  if (activation == "relu") return at::relu(x);
  return activation == "silu" ? at::silu(x) : at::gelu(x);
}

/// Joins neighboring frames to one and applies an MLP. The last stack is filled with zeros, which
/// frames beyond a row's length count as too.
/// Source: transformers, VoxtralMultiModalProjector, for stacks without a bias.
class FrameStacking final : public Connector, public Block {
 public:
  FrameStacking(const FrameStackingOptions& options, int64_t input_dim, int64_t output_dim)
      : options_(options),
        output_dim_(output_dim),
        linear_1_(options.factor * input_dim, options.hidden_size.value_or(output_dim),
                  options.bias),
        linear_2_(options.hidden_size.value_or(output_dim), output_dim, options.bias) {
    register_block("linear_1", linear_1_);
    register_block("linear_2", linear_2_);
  }
  Block& block() override { return *this; }
  Frames connect(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override {
    const at::Tensor valid_BT1 =
        length_mask(lengths_B, x_BTF.size(1)).unsqueeze(-1).to(x_BTF.device());
    const at::Tensor lengths = (lengths_B + options_.factor - 1).floor_divide(options_.factor);
    return {of_stacks(x_BTF * valid_BT1), lengths};
  }
  int64_t output_frames(int64_t num_frames) const override {
    return (num_frames + options_.factor - 1) / options_.factor;
  }
  int64_t output_dim() const override { return output_dim_; }
  int64_t stride() const override { return options_.factor; }
  std::unique_ptr<FrameStream> open_stream(int64_t) override {
    return std::make_unique<Live>(*this);
  }
  ShardPlan configure_model(const std::string& name) const override {
    return linear_plan(name, {"linear_1", "linear_2"});
  }

 private:
  at::Tensor of_stacks(const at::Tensor& x_BTF) {
    const int64_t stacks = output_frames(x_BTF.size(1));
    const int64_t missing = stacks * options_.factor - x_BTF.size(1);
    const at::Tensor x = missing > 0 ? at::constant_pad_nd(x_BTF, {0, 0, 0, missing}) : x_BTF;
    const int64_t width = x.size(2) * options_.factor;
    return linear_2_(
        activated(linear_1_(x.reshape({x.size(0), stacks, width})), options_.activation));
  }

  /// Keeps the frames of the stack that is not complete.
  struct Live final : FrameStream {
    explicit Live(FrameStacking& by) : stacking(by) {}
    at::Tensor push(const at::Tensor& x_BTF) override {
      const at::Tensor x = pending.defined() ? at::cat({pending, x_BTF}, 1) : x_BTF;
      const int64_t ready = x.size(1) / stacking.options_.factor * stacking.options_.factor;
      pending = x.narrow(1, ready, x.size(1) - ready).clone();
      return stacking.of_stacks(x.narrow(1, 0, ready));
    }
    at::Tensor finish() override { return stacking.of_stacks(pending); }
    FrameStacking& stacking;
    at::Tensor pending;
  };

  FrameStackingOptions options_;
  int64_t output_dim_;
  Linear linear_1_, linear_2_;
};

using MakeConnector = std::unique_ptr<Connector> (*)(const ModalityAdapterOptions& options,
                                                     int64_t num_inputs, int64_t input_dim,
                                                     int64_t output_dim);

/// By model.modality_adapter.type.
const std::map<std::string, MakeConnector> kMakers = {
    {"identity", [](const auto&, auto, auto, auto) { return std::unique_ptr<Connector>(); }},
    {"conformer",
     [](const auto& options, auto, auto, auto) -> std::unique_ptr<Connector> {
       return std::make_unique<ConformerConnector>(options.conformer);
     }},
    {"qformer", make_qformer},
    {"multi_layer_projection",
     [](const auto&, auto, auto inputs, auto outputs) -> std::unique_ptr<Connector> {
       return std::make_unique<MultiLayerProjection>(inputs, outputs);
     }},
    {"frame_stacking",
     [](const auto& options, auto, auto inputs, auto outputs) -> std::unique_ptr<Connector> {
       return std::make_unique<FrameStacking>(options.frame_stacking, inputs, outputs);
     }}};

}  // namespace

std::unique_ptr<Connector> make_connector(const ModalityAdapterOptions& options, int64_t num_inputs,
                                          int64_t input_dim, int64_t output_dim) {
  return kMakers.at(options.type)(options, num_inputs, input_dim, output_dim);
}

}  // namespace s2s
