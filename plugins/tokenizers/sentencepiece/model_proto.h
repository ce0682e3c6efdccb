#pragma once
// The fields of a SentencePiece model file that the export for transformers needs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::sentencepiece_plugin {

enum class PieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
enum class ModelType { kUnigram = 1, kBpe, kWord, kChar };

struct Piece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

/// Source of numbers and defaults: sentencepiece 0.1.97, src/sentencepiece_model.proto.
struct ModelProto {
  std::vector<Piece> pieces;
  ModelType model_type = ModelType::kUnigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string unk_surface = " \xE2\x81\x87 ";
  std::string normalization;  // the name of the rules
  std::string charsmap;       // the compiled rules; "": texts are not changed
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool has_denormalizer = false;
};

/// Reads the fields above from a serialized model and skips all others.
/// Errors: std::runtime_error for bytes that are not a protobuf message.
ModelProto read_model_proto(std::string_view bytes);

}  // namespace s2s::sentencepiece_plugin
