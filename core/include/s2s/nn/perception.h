#pragma once
// Perception: encoder, modality adapter, projection to the language model's width. Models with
// audio input share it.
// Parameter names follow NeMo: preprocessor.*, encoder.*, modality_adapter.*, proj.*.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/kinds/encoder.h"
#include "s2s/nn/conformer.h"
#include "s2s/nn/layers.h"
#include "s2s/options.h"

namespace s2s {

/// NeMo's QformerConnector. Inner width and dropout are BERT's there.
struct QFormerOptions {
  int64_t prompt_size = 64;
  int64_t num_hidden_layers = 2;
  int64_t num_attention_heads = 8;
  int64_t intermediate_size = 3072;
  double dropout = 0.1;
  void visit(OptionVisitor& v) {
    v("prompt_size", prompt_size, "frames for each recording, however long", at_least(1));
    v("num_hidden_layers", num_hidden_layers, "transformer layers", at_least(1));
    v("num_attention_heads", num_attention_heads, "must divide the encoder's width", at_least(1));
    v("intermediate_size", intermediate_size, "inner width of the feed-forward layers",
      at_least(1));
    v("dropout", dropout, "dropout of attention and of layer outputs", between(0, 1));
  }
};

/// linear_2(activation(linear_1(factor neighboring frames))).
struct FrameStackingOptions {
  int64_t factor = 2;
  std::optional<int64_t> hidden_size;
  std::string activation = "gelu";
  bool bias = true;
  void visit(OptionVisitor& v) {
    v("factor", factor, "frames of the encoder in each stack", at_least(1));
    v("hidden_size", hidden_size, "inner width; null: the language model's", at_least(1));
    v("activation", activation, "between the two layers", one_of({"gelu", "relu", "silu"}));
    v("bias", bias, "give both layers a bias");
  }
};

/// proj(the mean of factor neighboring frames).
struct FramePoolingOptions {
  int64_t factor = 2;
  void visit(OptionVisitor& v) {
    v("factor", factor, "frames of the encoder in each mean", at_least(1));
  }
};

/// NeMo's RotaryTimeEmbedding.
struct RotaryTimeOptions {
  bool enabled = false;
  std::optional<int64_t> dim;
  std::optional<double> theta;
  double rotary_fraction = 0.2;
  std::optional<double> max_time;
  void visit(OptionVisitor& v) {
    v("enabled", enabled, "rotate channels of the encoder's output by the time of their frame");
    v("dim", dim, "channels that rotary_fraction is of; null: the encoder's width", at_least(2));
    v("theta", theta, "base of the frequencies; null: max_time / 2 pi, else 1200", at_least(0.001));
    v("rotary_fraction", rotary_fraction, "fraction of the channels that rotate", between(0, 1));
    v("max_time", max_time, "seconds of a whole turn of the fastest channels; null: 2 pi seconds",
      at_least(0.001));
  }
};

/// The module between encoder and language model (model.modality_adapter).
struct ModalityAdapterOptions {
  std::string type = "identity";
  bool project = true;
  Config conformer;  // options of the Conformer stack
  std::vector<int64_t> target_layer_ids;
  bool include_final_output = true;
  QFormerOptions qformer;
  FrameStackingOptions frame_stacking;
  FramePoolingOptions frame_pooling;
  RotaryTimeOptions rote;
  /// True if the connector reads outputs of the encoder's layers.
  bool reads_layers() const {
    return type == "qformer" || type == "multi_layer_projection" || type == "weighted_sum";
  }
  void visit(OptionVisitor& v) {
    v("type", type,
      "identity; conformer: a small Conformer without subsampling; qformer: learned prompts attend "
      "to encoder layers; multi_layer_projection: encoder layers side by side; weighted_sum: their "
      "sum by learned shares; frame_stacking: an MLP on neighboring frames; frame_pooling: their "
      "mean",
      one_of({"identity", "conformer", "qformer", "multi_layer_projection", "weighted_sum",
              "frame_stacking", "frame_pooling"}));
    v("project", project,
      "map frames to the language model's width after identity and conformer; the other types end "
      "in that width");
    v("conformer", conformer, "options of that Conformer stack (type: conformer)");
    v("target_layer_ids", target_layer_ids,
      "encoder layers to read, from 0; -1 is the last (types qformer, multi_layer_projection, "
      "weighted_sum)");
    v("include_final_output", include_final_output, "read the encoder's own output too");
    v("qformer", qformer, "options of type qformer");
    v("frame_stacking", frame_stacking, "options of type frame_stacking");
    v("frame_pooling", frame_pooling, "options of type frame_pooling");
    v("rote", rote, "rotary time embedding of the encoder's output");
  }
};

class Connector;
class RotaryTime;

/// Maps audio to frames of the language model's width.
class Perception : public Block {
 public:
  /// The last of them ends in the width `output_dim`. Errors: [model/connector], [encoder/layers],
  /// those of the adapter's options.
  Perception(std::unique_ptr<Encoder> encoder, const ModalityAdapterOptions& adapter,
             int64_t output_dim);
  ~Perception() override;

  /// audio [B, S], lengths [B] samples -> features [B, T, H], lengths [B] frames, mel [B, F, T'].
  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B);
  /// The rest of `forward`, for an output of encoder() that another module has read, too.
  EncoderOutput adapt(EncoderOutput encoded);
  /// Number of valid frames for a number of samples, as `forward` returns it in lengths_B.
  int64_t output_frames(int64_t num_samples) const;
  /// Width T of the output for a padded batch of this many samples.
  int64_t output_width(int64_t num_samples) const;
  /// Frames for a second of audio. 0: their number does not depend on the audio (Q-Former).
  double frame_rate_hz() const;
  /// A live stream of the same frames (eval mode). Errors: [encoder/not-streamable].
  std::unique_ptr<EncoderStream> open_stream(int64_t batch_size);

  const Encoder& encoder() const { return *encoder_; }
  Encoder& encoder() { return *encoder_; }
  /// The plans of its parts, with module paths below this block.
  ShardPlan configure_model(const MeshShape& mesh) const;
  /// Our names and NeMo's, for a module `path` of a model. To go before the model's own rules.
  std::vector<NameRule> checkpoint_rules(const std::string& path) const;

 private:
  /// An encoder without parameters computes in float32, whatever the dtype of the others is.
  at::Tensor in_own_type(const at::Tensor& features_BTH);

  std::unique_ptr<Encoder> encoder_;
  bool reads_layers_, encoder_has_parameters_;
  std::unique_ptr<RotaryTime> rote_;      // null: none
  std::unique_ptr<Connector> connector_;  // null: identity
  std::unique_ptr<Linear> proj_;          // null: none
};

}  // namespace s2s
