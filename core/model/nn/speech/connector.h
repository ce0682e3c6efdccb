#pragma once
// Modules between a speech encoder and a language model, with NeMo's names and values. Shape
// letters: B batch, T frames, N outputs of the encoder, D width of each, P prompts, H width out.

#include <memory>
#include <string>

#include "s2s/nn/conformer.h"
#include "s2s/nn/layers.h"
#include "s2s/nn/perception.h"

namespace s2s {

/// Maps the encoder's frames to the language model's, or to the input of a projection.
class Connector {
 public:
  using Frames = ConformerEncoder::Output;
  virtual ~Connector();
  /// Its parameters.
  virtual Block& block() = 0;
  /// x [B, T, N D], lengths [B] -> frames and their numbers.
  virtual Frames connect(const at::Tensor& x_BTF, const at::Tensor& lengths_B) = 0;
  /// Number of frames for a row, or for a width, of `num_frames` frames.
  virtual int64_t output_frames(int64_t num_frames) const { return num_frames; }
  virtual int64_t output_dim() const = 0;
  /// Frames of the encoder for each frame that comes out; 0: their number does not depend on it.
  virtual int64_t stride() const { return 1; }
  /// Frames of a live conversation. Errors: [encoder/not-streamable].
  virtual std::unique_ptr<FrameStream> open_stream(int64_t batch_size) = 0;
  /// The plan of a parent that has block() under `name`. Every rank of the tensor axis holds all.
  /// Default: block() is one unit.
  virtual ShardPlan configure_model(const std::string& name) const;
};

/// The connector of `options`; null: identity. `input_dim`: N D. `output_dim`: of the language
/// model. Errors: [model/connector], those of ConformerOptions::check.
std::unique_ptr<Connector> make_connector(const ModalityAdapterOptions& options, int64_t num_inputs,
                                          int64_t input_dim, int64_t output_dim);

/// Attention of learned prompts to each output of the encoder, weighted per prompt.
/// Source: NeMo, QformerConnector; transformers, BertEncoder with cross-attention.
std::unique_ptr<Connector> make_qformer(const ModalityAdapterOptions& options, int64_t num_inputs,
                                        int64_t input_dim, int64_t output_dim);

/// [model/connector]: options of model.modality_adapter do not fit together.
[[noreturn]] void throw_connector(const std::string& key, const std::string& value,
                                  const std::string& expected);

/// Rotates the first channels of each frame by angles that grow with its time.
/// Source: NeMo (main, 2026), modules/rote.py; the time of a frame is that of its middle.
class RotaryTime {
 public:
  /// `dim`: D. Errors: [model/connector].
  RotaryTime(const RotaryTimeOptions& options, int64_t dim, double frame_rate_hz);
  /// x [B, T, N D], first_frame: its place in the recording -> the same shape and dtype.
  at::Tensor operator()(const at::Tensor& x_BTF, int64_t first_frame) const;

 private:
  int64_t dim_, num_rotated_;
  double theta_, frame_s_, factor_;
};

}  // namespace s2s
