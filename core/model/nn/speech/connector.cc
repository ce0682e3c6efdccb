#include "nn/speech/connector.h"

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/nn/rows.h"

namespace s2s {

Connector::~Connector() = default;

ShardPlan Connector::configure_model(const std::string& name) const {
  ShardPlan plan;
  plan.rows.push_back({name, Style::kReplicate, Layout::kFull, Layout::kFull});
  plan.units.push_back({name});
  return plan;
}

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

/// A layer on live frames, each by itself.
struct LiveFrames final : FrameStream {
  LiveFrames(BlockOf<>& of_frames, int64_t output_dim) : layer(of_frames), width(output_dim) {}
  at::Tensor push(const at::Tensor& x_BTF) override {
    rows = x_BTF.size(0);
    return layer(x_BTF);
  }
  at::Tensor finish() override {
    return at::empty({rows, 0, width}, layer.named_parameters().front().tensor->options());
  }
  BlockOf<>& layer;
  int64_t width, rows = 1;
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
    return std::make_unique<LiveFrames>(proj_, output_dim_);
  }
  ShardPlan configure_model(const std::string& name) const override {
    return linear_plan(name, {"proj"});
  }

 private:
  int64_t output_dim_;
  Linear proj_;
};

/// The sum of the encoder's outputs by learned shares (a softmax), and a projection.
class WeightedOutputs final : public BlockOf<> {
 public:
  WeightedOutputs(int64_t num_inputs, int64_t input_dim, int64_t output_dim)
      : num_inputs_(num_inputs), proj_(input_dim / num_inputs, output_dim) {
    register_parameter("layer_weights", weights_N_, {num_inputs}, {Init::Kind::kZeros, 0});
    register_block("proj", proj_);
  }

 protected:
  at::Tensor forward(const at::Tensor& x_BTF) override {
    const at::Tensor x_BTND = x_BTF.unflatten(-1, {num_inputs_, x_BTF.size(-1) / num_inputs_});
    const at::Tensor share_N1 = at::softmax(weights_N_, -1).unsqueeze(-1);
    return proj_((x_BTND * share_N1).sum(-2));
  }

 private:
  int64_t num_inputs_;
  at::Tensor weights_N_;
  Linear proj_;
};

/// Source: transformers, Wav2Vec2ForSequenceClassification with use_weighted_layer_sum, before its
/// mean over time.
class WeightedSum final : public Connector {
 public:
  WeightedSum(int64_t num_inputs, int64_t input_dim, int64_t output_dim)
      : output_dim_(output_dim), outputs_(num_inputs, input_dim, output_dim) {}
  Block& block() override { return outputs_; }
  Frames connect(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override {
    return {outputs_(x_BTF), lengths_B};
  }
  int64_t output_dim() const override { return output_dim_; }
  std::unique_ptr<FrameStream> open_stream(int64_t) override {
    return std::make_unique<LiveFrames>(outputs_, output_dim_);
  }

 private:
  int64_t output_dim_;
  WeightedOutputs outputs_;
};

at::Tensor activated(const at::Tensor& x, const std::string& activation) {
  if (activation == "relu") return at::relu(x);
  return activation == "silu" ? at::silu(x) : at::gelu(x);
}

/// Makes one frame of `factor` neighboring ones. Frames beyond a row's length are zeros, as are
/// those that the last group lacks.
class FrameGroups : public Connector, public Block {
 public:
  FrameGroups(int64_t factor, int64_t output_dim) : factor_(factor), output_dim_(output_dim) {}
  Block& block() override { return *this; }
  Frames connect(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override {
    const at::Tensor valid_BT1 =
        length_mask(lengths_B, x_BTF.size(1)).unsqueeze(-1).to(x_BTF.device());
    const at::Tensor begins_G = at::arange(output_frames(x_BTF.size(1)), lengths_B.options());
    const at::Tensor sizes_BG = (lengths_B.unsqueeze(1) - begins_G * factor_).clamp(1, factor_);
    const at::Tensor lengths = (lengths_B + factor_ - 1).floor_divide(factor_);
    return {of_frames(x_BTF * valid_BT1, sizes_BG.to(x_BTF.device())), lengths};
  }
  int64_t output_frames(int64_t num_frames) const override {
    return (num_frames + factor_ - 1) / factor_;
  }
  int64_t output_dim() const override { return output_dim_; }
  int64_t stride() const override { return factor_; }
  std::unique_ptr<FrameStream> open_stream(int64_t) override {
    return std::make_unique<Live>(*this);
  }

 protected:
  /// x [B, G, factor, F], how many frames of each group there are [B, G] -> [B, G, H].
  virtual at::Tensor of_groups(const at::Tensor& x_BGLF, const at::Tensor& sizes_BG) = 0;

 private:
  at::Tensor of_frames(const at::Tensor& x_BTF, const at::Tensor& sizes_BG) {
    const int64_t groups = output_frames(x_BTF.size(1));
    const int64_t missing = groups * factor_ - x_BTF.size(1);
    const at::Tensor x = missing > 0 ? at::constant_pad_nd(x_BTF, {0, 0, 0, missing}) : x_BTF;
    return of_groups(x.reshape({x.size(0), groups, factor_, x.size(2)}), sizes_BG);
  }

  /// Keeps the frames of the group that is not complete.
  struct Live final : FrameStream {
    explicit Live(FrameGroups& by) : connector(by) {}
    at::Tensor push(const at::Tensor& x_BTF) override {
      const at::Tensor x = pending.defined() ? at::cat({pending, x_BTF}, 1) : x_BTF;
      const int64_t groups = x.size(1) / connector.factor_, ready = groups * connector.factor_;
      pending = x.narrow(1, ready, x.size(1) - ready).clone();
      return connector.of_frames(x.narrow(1, 0, ready), sizes(groups, connector.factor_));
    }
    at::Tensor finish() override {
      return connector.of_frames(pending, sizes(pending.size(1) > 0, pending.size(1)));
    }
    at::Tensor sizes(int64_t groups, int64_t size) const {
      return at::full({pending.size(0), groups}, size, pending.options().dtype(at::kLong));
    }
    FrameGroups& connector;
    at::Tensor pending;
  };

  int64_t factor_, output_dim_;
};

/// An MLP on the frames of a group, side by side.
/// Source: transformers, VoxtralMultiModalProjector, for stacks without a bias.
class FrameStacking final : public FrameGroups {
 public:
  FrameStacking(const FrameStackingOptions& options, int64_t input_dim, int64_t output_dim)
      : FrameGroups(options.factor, output_dim),
        activation_(options.activation),
        linear_1_(options.factor * input_dim, options.hidden_size.value_or(output_dim),
                  options.bias),
        linear_2_(options.hidden_size.value_or(output_dim), output_dim, options.bias) {
    register_block("linear_1", linear_1_);
    register_block("linear_2", linear_2_);
  }
  ShardPlan configure_model(const std::string& name) const override {
    return linear_plan(name, {"linear_1", "linear_2"});
  }

 protected:
  at::Tensor of_groups(const at::Tensor& x_BGLF, const at::Tensor&) override {
    return linear_2_(activated(linear_1_(x_BGLF.flatten(2)), activation_));
  }

 private:
  std::string activation_;
  Linear linear_1_, linear_2_;
};

/// The mean of the frames of a group that the row has, and a projection.
/// Source: torch, AvgPool1d with ceil_mode, of each row by itself.
class FramePooling final : public FrameGroups {
 public:
  FramePooling(const FramePoolingOptions& options, int64_t input_dim, int64_t output_dim)
      : FrameGroups(options.factor, output_dim), proj_(input_dim, output_dim) {
    register_block("proj", proj_);
  }
  ShardPlan configure_model(const std::string& name) const override {
    return linear_plan(name, {"proj"});
  }

 protected:
  at::Tensor of_groups(const at::Tensor& x_BGLF, const at::Tensor& sizes_BG) override {
    return proj_(x_BGLF.sum(2) / sizes_BG.unsqueeze(-1).to(x_BGLF.scalar_type()));
  }

 private:
  Linear proj_;
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
    {"weighted_sum",
     [](const auto&, auto count, auto inputs, auto outputs) -> std::unique_ptr<Connector> {
       return std::make_unique<WeightedSum>(count, inputs, outputs);
     }},
    {"frame_pooling",
     [](const auto& options, auto, auto inputs, auto outputs) -> std::unique_ptr<Connector> {
       return std::make_unique<FramePooling>(options.frame_pooling, inputs, outputs);
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
