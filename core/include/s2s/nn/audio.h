#pragma once
// Layers of codecs and of other models of audio, that compute a stream piece by piece: all pieces
// together are what one piece with the whole gives. A layer keeps what it needs of earlier pieces
// in a StreamState. Shape letters: B batch, C channels, T positions of a layer, N latents, D
// elements of an entry, V entries of a codebook, K codebooks.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// What layers keep of the earlier pieces of a stream.
class StreamState {
 public:
  /// A tensor of a layer, undefined at first. `what`: one of several of the layer.
  at::Tensor& kept(const Block& layer, int what = 0) { return tensors_[{&layer, what}]; }
  /// A count of a layer, 0 at first.
  int64_t& count(const Block& layer) { return counts_[&layer]; }
  /// How many of the newest positions are no audio of their row, [B] int64; undefined: none. A
  /// convolution sees its padding there, as if the row ended before. Set it for each piece.
  at::Tensor& surplus_B() { return surplus_B_; }
  /// With the last piece, strided convolutions go on into their padding until their outputs cover
  /// all positions, as those of transformers' codecs do. False at first.
  bool& completes() { return completes_; }
  /// What layers at and below `root` keep, by their names, for CodecStream::state. A layer that
  /// keeps something has a name of its own.
  TensorMap save(Block& root) const;
  /// Replaces it by what `save` gave, on `device`; skips names that `save` does not write. Errors:
  /// [codec/stream-state] for a layer that is not below `root`.
  void restore(Block& root, const TensorMap& saved, at::Device device);

 private:
  at::Tensor surplus_B_;
  bool completes_ = false;
  std::map<std::pair<const Block*, int>, at::Tensor> tensors_;
  std::map<const Block*, int64_t> counts_;
};

/// A tensor that follows from two frozen ones: computed once, and again when one has changed.
/// Threads may ask at the same time.
class DerivedTensor {
 public:
  /// The tensor that `compute` makes of `a` and `b`.
  at::Tensor of(const at::Tensor& a, const at::Tensor& b,
                const std::function<at::Tensor()>& compute);

 private:
  std::mutex mutex_;
  at::Tensor a_, b_, value_;
  int64_t version_a_ = 0, version_b_ = 0;
};

/// How a weight is stored: as a buffer, because codecs are frozen, or as a parameter; itself, or as
/// a direction and a length for each slice of dim 0 (torch's weight_norm).
struct WeightForm {
  bool trains = false;
  bool is_normed = false;
};

/// A weight and its bias. Names: "weight" (or `name`) and "bias"; normed: "weight_g", "weight_v".
class StoredWeight : public Block {
 public:
  /// `fan_in`: inputs of one output, for random values; 0: ones. `num_biases` 0: no bias.
  StoredWeight(std::vector<int64_t> sizes, int64_t fan_in, int64_t num_biases,
               const WeightForm& form = {}, const std::string& name = "weight");
  ~StoredWeight() override;
  /// The weight that layers multiply with.
  at::Tensor value() const;
  /// x [..., in] -> x W^T + b [..., out], of a weight [out, in] or [out, in, 1].
  at::Tensor product(const at::Tensor& x) const;
  /// What `arrange` makes of `value`: computed once while the weight is frozen. A weight has one
  /// arrangement.
  at::Tensor arranged(const std::function<at::Tensor(const at::Tensor&)>& arrange) const;
  at::Tensor bias;  // undefined without one

 protected:
  void reset_buffers() override;

 private:
  std::vector<int64_t> sizes_;
  int64_t fan_in_, num_biases_;
  WeightForm form_;
  at::Tensor weight_, length_;               // length_: of each slice, when normed
  mutable DerivedTensor normed_, arranged_;  // of a frozen weight
};

class PointwiseLayer;

/// Computes a stream piece by piece.
class AudioLayer : public Block {
 public:
  ~AudioLayer() override;
  /// [B, C, T] -> [B, C', T']: the outputs that no later input changes; T' may be 0. `is_last`:
  /// nothing follows, so that all outputs are complete.
  virtual at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const = 0;
  /// What it computes of the outputs of `before`. Default: that first.
  virtual at::Tensor push_after(const PointwiseLayer& before, const at::Tensor& x_BCT,
                                StreamState& state, bool is_last) const;
  /// The whole as one piece.
  at::Tensor operator()(const at::Tensor& x_BCT) const;
};

/// A function of each number. AudioStack has the layer after it call `write`.
class PointwiseLayer : public AudioLayer {
 public:
  ~PointwiseLayer() override;
  /// Writes its outputs to `out`, of the same sizes; without gradients.
  virtual void write(const at::Tensor& x_BCT, const at::Tensor& out_BCT) const = 0;
};

/// What a convolution sees before the first and after the last position.
enum class EdgePadding { kZeros, kReplicate, kReflect };

/// Sizes and paddings of a convolution.
struct ConvSpec {
  int64_t inputs = 1, outputs = 1, kernel = 1, stride = 1, dilation = 1, groups = 1;
  bool has_bias = true;
  EdgePadding padding = EdgePadding::kZeros;
  /// Positions before the first one; -1: so many that an output sees no later input (causal).
  int64_t left = -1;
  int64_t right = 0;  // positions after the last one
  WeightForm form = {};
  std::string name = "conv";  // of the block that has the weight; "": the layer itself
};

/// Convolution.
class StreamConv1d : public AudioLayer {
 public:
  explicit StreamConv1d(const ConvSpec& spec);
  ~StreamConv1d() override;
  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override;
  at::Tensor push_after(const PointwiseLayer& before, const at::Tensor& x_BCT, StreamState& state,
                        bool is_last) const override;

 private:
  /// The audio of each row, and after it what a convolution of the row alone would see.
  at::Tensor ended(const at::Tensor& x_BCT, const at::Tensor& surplus_B) const;
  /// Whether `push_padded` takes the piece.
  bool is_plain(const at::Tensor& x_BCT, StreamState& state, bool is_last) const;
  /// `push` of a plain piece: all that it sees is written to one tensor. `before`: may be null.
  at::Tensor push_padded(const PointwiseLayer* before, const at::Tensor& x_BCT, StreamState& state,
                         bool is_last) const;
  /// `ended` in place.
  void end_rows(const at::Tensor& seen_BCT, const at::Tensor& surplus_B) const;
  void pad_front(const at::Tensor& front_BCT, const at::Tensor& seen_BCT) const;
  /// The outputs of what is seen, of which the state keeps what later ones see.
  at::Tensor outputs_of(const at::Tensor& seen_BCT, StreamState& state) const;
  at::Tensor padded_front(const at::Tensor& x_BCT) const;
  /// Reflections of audio that is shorter than they are, which zeros continue.
  at::Tensor reflected_briefly(const at::Tensor& x_BCT, int64_t right) const;
  at::Tensor padded_back(const at::Tensor& x_BCT, const at::Tensor& newest) const;

  ConvSpec spec_;
  StoredWeight weight_;
};

/// Sizes of a transposed convolution, and what of its output is dropped.
struct ConvTransposeSpec {
  int64_t inputs = 1, outputs = 1, kernel = 1, stride = 1, groups = 1;
  bool has_bias = true;
  /// Outputs that are dropped at the beginning and at the end; right -1: all that later inputs
  /// would add to (causal), so that T positions give T * stride.
  int64_t left = 0, right = -1;
  WeightForm form = {};
  std::string name = "conv";
};

/// Transposed convolution.
class StreamConvTranspose1d : public AudioLayer {
 public:
  explicit StreamConvTranspose1d(const ConvTransposeSpec& spec);
  ~StreamConvTranspose1d() override;
  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override;
  at::Tensor push_after(const PointwiseLayer& before, const at::Tensor& x_BCT, StreamState& state,
                        bool is_last) const override;

 private:
  /// Whether each output is one of two inputs, as a convolution computes it without sums of
  /// windows.
  bool is_convolution(const at::Tensor& x_BCT) const;
  /// `push` of such. `before`: may be null.
  at::Tensor push_pairs(const PointwiseLayer* before, const at::Tensor& x_BCT, StreamState& state,
                        bool is_last) const;
  at::Tensor cut_front(const at::Tensor& done_BCT, StreamState& state) const;

  ConvTransposeSpec spec_;
  StoredWeight weight_;
};

/// elu(x).
class Elu : public PointwiseLayer {
 public:
  ~Elu() override;
  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override;
  void write(const at::Tensor& x_BCT, const at::Tensor& out_BCT) const override;
};

/// x + sin(alpha x)^2 / alpha with an "alpha" [1, C, 1] for each channel.
/// Source: Ziyin et al. 2020, arXiv 2006.08195; DAC's epsilon.
class Snake : public PointwiseLayer {
 public:
  explicit Snake(int64_t channels, const WeightForm& form = {});
  ~Snake() override;
  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override;
  void write(const at::Tensor& x_BCT, const at::Tensor& out_BCT) const override;

 private:
  StoredWeight alpha_;
};

/// Layers one after the other, named `prefix`0, `prefix`1, ...
class AudioStack : public AudioLayer {
 public:
  explicit AudioStack(std::string prefix) : prefix_(std::move(prefix)) {}
  ~AudioStack() override;
  /// Adds a layer to the end. `name`: instead of the numbered one.
  void add(std::unique_ptr<AudioLayer> layer, const std::string& name = "");
  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override;

 private:
  std::string prefix_;
  int64_t count_ = 0;
  std::vector<std::unique_ptr<AudioLayer>> layers_;
};

/// x + stack(x), where x may go through a layer of its own ("shortcut").
class ResidualUnit : public AudioLayer {
 public:
  /// `prefix`: names of the layers of the stack ("block.").
  explicit ResidualUnit(std::string prefix, std::unique_ptr<AudioLayer> shortcut = nullptr);
  ~ResidualUnit() override;
  /// Adds a layer to the end of the stack. `name`: instead of the numbered one.
  ResidualUnit& add(std::unique_ptr<AudioLayer> layer, const std::string& name = "");
  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override;

 private:
  AudioStack stack_;
  std::unique_ptr<AudioLayer> shortcut_;
};

/// x + lstm(x) over positions; [B, C, T] -> [B, C, T]. Names are torch's, after `prefix`.
class StreamLstm : public AudioLayer {
 public:
  StreamLstm(int64_t channels, int64_t num_layers, const WeightForm& form = {},
             const std::string& prefix = "");
  ~StreamLstm() override;
  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override;

 protected:
  void reset_buffers() override;

 private:
  int64_t channels_, num_layers_;
  std::vector<at::Tensor> weights_;  // of each layer: input, hidden, their biases
};

/// How the distance to the entries of a codebook is computed: by LibTorch's cdist, as |x|^2 +
/// |e|^2 - 2 x e, or as |x|^2 - 2 x e + |e|^2. All round differently.
enum class EntryDistance { kCdist, kExpanded, kProductFirst };

/// The nearest entry of a codebook [V, D] for latents [N, D] -> [N] int64.
at::Tensor nearest_entry(const at::Tensor& latents_ND, const at::Tensor& entries_VD,
                         EntryDistance distance);

/// Residual quantization of latents [B, T, D]: each book is for what the books before it left. ->
/// codes [B, T, K].
at::Tensor residual_codes(const at::Tensor& latents_BTD, const std::vector<at::Tensor>& books_VD,
                          EntryDistance distance);

/// The sum of the entries of codes [B, T, K] of the first K books -> [B, T, D].
at::Tensor sum_of_entries(const at::Tensor& codes_BTK, const std::vector<at::Tensor>& books_VD);

/// The codes of finite scalar quantization: one code for L numbers, of which each has a count of
/// levels of its own. What the levels mean belongs to the codec.
class ScalarLevels {
 public:
  explicit ScalarLevels(std::vector<int64_t> counts) : counts_(std::move(counts)) {}
  /// V, the product of the counts.
  int64_t codebook_size() const;
  const std::vector<int64_t>& counts() const { return counts_; }
  /// levels [..., L] int64 -> codes [...]: the sum of the levels, each times the product of the
  /// earlier counts.
  at::Tensor codes(const at::Tensor& levels) const;
  /// codes [...] -> levels [..., L].
  at::Tensor levels(const at::Tensor& codes) const;

 private:
  std::vector<int64_t> counts_;
};

}  // namespace s2s
