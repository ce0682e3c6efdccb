#include "model_proto.h"

#include <cstring>
#include <functional>
#include <stdexcept>

namespace s2s::sentencepiece_plugin {
namespace {

// Wire types of protobuf.
constexpr uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kGroupEnd = 4, kFixed32 = 5;

/// One field of a message: its number and its value, stored by wire type.
struct Field {
  uint64_t number = 0, wire_type = 0, integer = 0;
  std::string_view bytes;  // of kBytes, kFixed32 and kFixed64

  /// True if the field has this number and type. Protobuf skips fields with an unexpected type.
  bool is(uint64_t wanted, uint64_t type) const { return number == wanted && wire_type == type; }
};

/// Reads the fields of a message one after another.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }

  Field next() {
    Field field;
    const uint64_t tag = varint();
    field.number = tag >> 3U;
    field.wire_type = tag & 7U;
    if (field.wire_type == kVarint) {
      field.integer = varint();
    } else if (field.wire_type == kBytes) {
      field.bytes = take(varint());
    } else if (field.wire_type == kFixed32 || field.wire_type == kFixed64) {
      field.bytes = take(field.wire_type == kFixed32 ? 4 : 8);
    } else if (field.wire_type != kGroup && field.wire_type != kGroupEnd) {
      throw std::runtime_error("sentencepiece: a field of a model has an unknown wire type");
    }
    return field;
  }

 private:
  std::string_view take(uint64_t num_bytes) {
    if (num_bytes > rest_.size()) {
      throw std::runtime_error("sentencepiece: a field of a model ends too early");
    }
    const std::string_view taken = rest_.substr(0, num_bytes);
    rest_.remove_prefix(num_bytes);
    return taken;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    throw std::runtime_error("sentencepiece: a number of a model is too long");
  }

  std::string_view rest_;
};

/// Calls `read` for each field outside of groups. Models have no groups.
void read_fields(std::string_view bytes, const std::function<void(const Field&)>& read) {
  int64_t depth = 0;
  for (FieldReader reader(bytes); !reader.done();) {
    const Field field = reader.next();
    if (field.wire_type == kGroup) {
      ++depth;
    } else if (field.wire_type == kGroupEnd) {
      --depth;
    } else if (depth == 0) {
      read(field);
    }
  }
}

float as_float(std::string_view bytes) {
  float value = 0;
  if (bytes.size() == sizeof(value)) std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

Piece read_piece(std::string_view bytes) {
  Piece piece;
  read_fields(bytes, [&](const Field& field) {
    if (field.is(1, kBytes)) piece.text = field.bytes;
    if (field.is(2, kFixed32)) piece.score = as_float(field.bytes);
    // Protobuf skips unknown values of an enumeration.
    const bool is_known = field.integer >= 1 && field.integer <= 6;
    if (field.is(3, kVarint) && is_known) piece.type = static_cast<PieceType>(field.integer);
  });
  return piece;
}

void read_trainer_spec(std::string_view bytes, ModelProto& model) {
  read_fields(bytes, [&](const Field& field) {
    const bool is_known = field.integer >= 1 && field.integer <= 4;
    if (field.is(3, kVarint) && is_known) model.model_type = static_cast<ModelType>(field.integer);
    if (field.is(24, kVarint)) model.treat_whitespace_as_suffix = field.integer != 0;
    if (field.is(35, kVarint)) model.byte_fallback = field.integer != 0;
    if (field.is(44, kBytes)) model.unk_surface = field.bytes;
  });
}

void read_normalizer_spec(std::string_view bytes, ModelProto& model) {
  read_fields(bytes, [&](const Field& field) {
    if (field.is(1, kBytes)) model.normalization = field.bytes;
    if (field.is(2, kBytes)) model.charsmap = field.bytes;
    if (field.is(3, kVarint)) model.add_dummy_prefix = field.integer != 0;
    if (field.is(4, kVarint)) model.remove_extra_whitespaces = field.integer != 0;
    if (field.is(5, kVarint)) model.escape_whitespaces = field.integer != 0;
  });
}

}  // namespace

ModelProto read_model_proto(std::string_view bytes) {
  ModelProto model;
  read_fields(bytes, [&](const Field& field) {
    if (field.is(1, kBytes)) model.pieces.push_back(read_piece(field.bytes));
    if (field.is(2, kBytes)) read_trainer_spec(field.bytes, model);
    if (field.is(3, kBytes)) read_normalizer_spec(field.bytes, model);
    if (field.is(5, kBytes)) {  // a NormalizerSpec; it changes texts only if it has a map
      ModelProto denormalizer;
      read_normalizer_spec(field.bytes, denormalizer);
      model.has_denormalizer = !denormalizer.charsmap.empty();
    }
  });
  return model;
}

}  // namespace s2s::sentencepiece_plugin
