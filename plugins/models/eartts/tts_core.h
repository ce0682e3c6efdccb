#pragma once
// EAR-TTS's speech model: predicts the codec's next latent frame from codes of past frames and
// text. Source: NeMo's RVQEARTTSModel. Shape letters: B batch, T frames, K books, C codes of a
// book, D elements of a latent, H hidden, U width of the context.

#include <memory>
#include <optional>

#include "masking.h"
#include "mog_head.h"
#include "s2s/kinds/backbone.h"
#include "subword_encoder.h"

namespace s2s::eartts {

/// A batch with NeMo's names. Optional tensors may be undefined.
struct TtsInputs {
  at::Tensor code_BTK;         // int64; codebook_size: no code
  at::Tensor audio_mask_BT;    // bool, true: speech that is learned
  at::Tensor context_BTU;      // optional
  at::Tensor subword_ids_BT;   // optional, int64
  at::Tensor subword_mask_BT;  // optional, bool; default: where the context is not zero
  at::Tensor text_BT;          // of the context; not read by the speech model
};

/// Combines text and audio by a learned gate. Source: NeMo's GatedProjectedSumRMSNorm.
class GatedFusion : public Block {
 public:
  explicit GatedFusion(int64_t hidden_size);
  ~GatedFusion() override;
  at::Tensor operator()(const at::Tensor& audio_BTH, const at::Tensor& text_BTH);

 private:
  Linear audio_proj_, text_proj_;
  at::Tensor gate_, residual_scale_;
  RmsNorm final_norm_;
};

/// Learned vectors for the first frame of speech and for a dropped condition.
class Marks : public Block {
 public:
  explicit Marks(int64_t hidden_size);
  ~Marks() override;
  at::Tensor bos_emb, null_emb;
};

/// Scalars of a training step.
struct TtsLosses {
  at::Tensor end;      // lm_loss: cross entropy of the end classifier
  at::Tensor latent;   // c_loss: negative log-likelihood of the hidden books' latent
  at::Tensor mixture;  // k_loss: divergence of the mixture's weights from the posterior
  at::Tensor hidden_BTH;
  at::Tensor total() const { return end + latent + mixture; }
};

/// How generation draws noise and components.
struct Sampling {
  int64_t num_iter = 8;
  double guidance = 0;  // 0: no unconditional rows
  TopComponents top;
  double noise_scale = 1;
  uint64_t seed = 0;
  /// A new random stream on the CPU, which is equal on every device and rank.
  at::Generator noise() const;
};
/// Errors: [eartts/top].
Sampling sampling_of(const GenerationOptions& options, const std::string& path);

class TtsCore : public Block {
 public:
  TtsCore(const TtsOptions& options, std::unique_ptr<Backbone> backbone,
          const Vocabulary& vocabulary);
  ~TtsCore() override;

  const TtsOptions& options() const { return options_; }
  Backbone& backbone() { return *backbone_; }
  int64_t hidden_size() const { return backbone_->shape().hidden_size; }
  /// The codec's books [K, C, D].
  void set_books(const at::Tensor& books_KCD);
  /// True after set_books or a checkpoint has set the codec's books.
  bool has_books() const;

  TtsLosses losses(const TtsInputs& inputs, const Draws& draws);
  /// States of frames with known codes, without dropout. `guided`: also appends the rows without
  /// their condition. `state` may be null.
  at::Tensor prompt_states(const TtsInputs& inputs, bool guided, SequenceState* state);
  /// The states of the frames after `state`. code: generated for the previous frame.
  at::Tensor next_states(const TtsInputs& inputs, bool guided, SequenceState& state);
  /// Generates codes [B, T, K] from states, in rounds. With guidance, `hidden` also has the rows
  /// without their condition. `noise`: the random stream.
  at::Tensor generate(const at::Tensor& hidden_BTH, const Sampling& sampling,
                      const at::Generator& noise);

  /// Only `marks` has other names than in NeMo.
  NameMap checkpoint_names() const;
  ShardPlan configure_model(const MeshShape& mesh) const;

 protected:
  void reset_buffers() override;

 private:
  at::Tensor latents(const at::Tensor& code_BTK) const;
  at::Tensor code_inputs(const at::Tensor& code_BTK, const at::Tensor& audio_mask_BT);
  at::Tensor condition(const TtsInputs& inputs, const at::Tensor& uncond_B11);
  at::Tensor states(const at::Tensor& code_BTH, const TtsInputs& inputs,
                    const at::Tensor& uncond_B11, SequenceState* state);
  at::Tensor guided_states(at::Tensor code_BTH, TtsInputs inputs, bool guided,
                           SequenceState* state);
  at::Tensor end_loss(const at::Tensor& hidden_BTH, const at::Tensor& audio_mask_BT);
  void mixture_losses(const at::Tensor& code_BTK, const at::Tensor& target_BTK, Mixture mixture,
                      TtsLosses& losses);

  TtsOptions options_;
  std::unique_ptr<Backbone> backbone_;
  Marks marks_;
  Linear embed_code_;
  std::unique_ptr<Embedding> embed_target_mask_;
  std::unique_ptr<Linear> embed_context_;
  std::unique_ptr<SubwordEncoder> embed_subword_;
  std::unique_ptr<GatedFusion> fusion_;
  std::unique_ptr<Linear> lm_head_;
  MogHead mog_head_;
  at::Tensor books_KCD_;
  at::Tensor prompt_projection_HH_;  // with use_audio_prompt_frozen_projection
};

}  // namespace s2s::eartts
