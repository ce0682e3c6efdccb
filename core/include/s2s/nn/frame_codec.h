#pragma once
// A codec of layers that compute a stream piece by piece (s2s/nn/audio.h). A plugin writes how a
// piece becomes codes and how codes become a piece; the rest of a codec's interface is here. Shape
// letters: B batch, S samples, K codebooks, T frames.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "s2s/config.h"
#include "s2s/kinds/codec.h"
#include "s2s/nn/audio.h"

namespace s2s {

/// Encodes and decodes frame by frame. A row of a batch has the codes that it has alone.
class FrameCodec : public Codec {
 public:
  ~FrameCodec() override;
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  /// Errors: [codec/code-range] on a CPU.
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override;
  /// The stream returns the codes of a frame when all samples that it depends on are there.
  std::unique_ptr<CodecEncoderStream> open_encoder_stream(int64_t batch_size) override;
  /// The codes of the last frame of two seconds of zeros.
  at::Tensor silence_codes() override;

 protected:
  /// How a last, incomplete frame is filled.
  enum class LastFrame {
    kZeros,  // the audio goes on with zeros
    kLayers  // each convolution sees its padding after the audio's end, as transformers' have it
  };
  explicit FrameCodec(LastFrame last_frame) : last_frame_(last_frame) {}

  /// The next piece of audio [B, S], of whole frames -> the codes that no later audio changes.
  virtual at::Tensor encode_piece(const at::Tensor& audio_BS, StreamState& state,
                                  bool is_last) const = 0;
  /// The next codes [B, K, T] -> the audio [B, S] that no later codes change.
  virtual at::Tensor decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                                  bool is_last) const = 0;
  /// How a piece of audio becomes something for each frame, in dim 2.
  using EncodePiece =
      std::function<at::Tensor(const at::Tensor& audio_BS, StreamState&, bool is_last)>;
  /// Applies `of_piece` to pieces of audio whose rows end at `lengths_B`, so that memory does not
  /// grow with the audio.
  at::Tensor encode_in_pieces(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                              const EncodePiece& of_piece) const;
  /// Decodes codes in pieces; the audio is not filled up to whole frames.
  at::Tensor decode_in_pieces(const at::Tensor& codes_BKT) const;
  /// Frames of rows of so many samples, [B] int64.
  at::Tensor frames_of(const at::Tensor& lengths_B) const;
  at::Device device();
  /// A stream that takes audio of any length and gives what `of_piece` makes of whole frames.
  /// `nothing`: what it gives for no frame, of the same dtype and sizes with 0 in dim 2.
  std::unique_ptr<CodecEncoderStream> open_piece_stream(EncodePiece of_piece, at::Tensor nothing);
  /// What all such codecs give for a reference file's inputs audio, lengths, codes (to decode),
  /// piece_frames (encode so many frames at once) and first_books: codes, lengths, audio and
  /// audio_first_books. Rows end where the batch ends, because the peers do not look at lengths.
  std::map<std::string, at::Tensor> peer_outputs(const std::map<std::string, at::Tensor>& inputs);

 private:
  class AudioStream;
  class CodeStream;
  LastFrame last_frame_;
};

/// Reads a codec's config.json of Hugging Face: takes the keys of `options`, skips those of
/// `ignored` and those that every config.json may have, and refuses any other. Errors:
/// [weights/config].
Config read_codec_keys(const Config& foreign, const std::string& model_type,
                       const std::set<std::string>& options,
                       const std::set<std::string>& ignored = {});

/// The config.json of a codec whose options (write_options) have the names of that file: all but
/// "path" and "num_codebooks", which are ours.
Config write_codec_keys(const Config& options, const std::string& model_type,
                        const std::string& architecture);

}  // namespace s2s
