#include "transformers_text.h"

#include <algorithm>
#include <cctype>

namespace s2s::sentencepiece_plugin {
namespace {

using nlohmann::json;

const std::string kMark(kSpaceMark);

json replacement(const char* kind, const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}
json replace_text(const std::string& text, const std::string& content) {
  return replacement("String", text, content);
}
json replace_pattern(const std::string& pattern, const std::string& content) {
  return replacement("Regex", pattern, content);
}

/// An Oniguruma pattern that matches exactly `text`.
std::string quoted(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    if (std::ispunct(static_cast<unsigned char>(c)) != 0) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t num_bytes = std::min<size_t>(3, bytes.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (i < num_bytes ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (unsigned i = 0; i < 4; ++i) {
      text += i <= num_bytes ? kDigits[bits >> (18 - 6 * i) & 63U] : '=';
    }
  }
  return text;
}

/// Places where NFKC does more than the model's rules: it sorts marks, and adds a final consonant
/// to a Korean syllable. Pairs of marks that compose to one character (Vietnamese, Greek) are
/// excluded.
std::string places_without_composition() {
  const std::string mark = R"((?=[\p{Mn}\x{1D165}-\x{1D172}]))";
  const std::string after_mark = R"((?<=[\p{Mn}\x{1D165}-\x{1D172}]))";
  const std::string not_in_pair = R"((?<![\u0300-\u0314\u031B\u0323\u0327\u0328\u0342\u0C46]))";
  return R"((?<=[\uAC00-\uD7A3])(?=[\u11A8-\u11C2])|)" + after_mark + not_in_pair + mark +
         R"(|(?<=[\u0300-\u0314\u0342])(?![\u0300-\u0314\u0342\u0345]))" + mark +
         R"(|(?<=[\u031B\u0323\u0327\u0328])(?![\u0300-\u0314\u0323\u0342\u0345]))" + mark;
}

/// Adds the model's rules. The package treats a grapheme of up to five bytes as one character, and
/// drops the characters after the one with a rule. In longer graphemes it does not find rules of
/// several characters. Those rules are compositions, which NFKC does first; the cuts then split
/// graphemes so that none has two such characters.
void add_rules(const ModelProto& model, FreeCharacters& free, json& steps) {
  if (model.charsmap.empty()) return;
  const bool is_nfkc = model.normalization.find("nfkc") != std::string::npos;
  const std::string cut = free.take();
  if (is_nfkc) {
    // The nmt rules keep the wide tilde, which Japanese needs.
    const std::string wide_tilde = "\xEF\xBD\x9E", kept_tilde = free.take();
    steps.push_back(replace_pattern(places_without_composition(), cut));
    steps.push_back(replace_text(wide_tilde, kept_tilde));
    steps.push_back({{"type", "NFKC"}});
    steps.push_back(replace_text(kept_tilde, wide_tilde));
    steps.push_back(replace_pattern("(?<!\\A)(?=[^\\x00-\\x09\\x0B-\\x7F])", cut));
  }
  steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.charsmap)}});
  if (is_nfkc) steps.push_back(replace_text(cut, ""));
}

/// Puts `mark` before every text that is not empty. The package also normalizes the contents of
/// added tokens; those must not change.
json dummy_prefix(const std::string& mark, const std::vector<std::string>& added,
                  const std::map<std::string, std::string>& escapes) {
  if (added.empty()) return {{"type", "Prepend"}, {"prepend", mark}};
  std::string pattern = "\\A(?!\\z";
  for (const std::string& content : added) {
    pattern += "|" + quoted(escaped(content, escapes)) + "\\z";
  }
  return replace_pattern(pattern + ")", mark);
}

json sequence(const char* member, json steps) {
  return {{"type", "Sequence"}, {member, std::move(steps)}};
}

}  // namespace

json transformers_normalizer(const ModelProto& model, const PieceNames& pieces,
                             const std::vector<std::string>& added, FreeCharacters& free) {
  const std::string mark = model.escape_whitespaces ? kMark : " ";
  json steps = json::array();
  // A text may be empty after spaces are stripped. An empty text gets no prefix.
  const bool is_prefix_last = model.remove_extra_whitespaces;
  if (model.add_dummy_prefix && !is_prefix_last) steps.push_back(dummy_prefix(mark, added, {}));
  add_rules(model, free, steps);
  if (model.remove_extra_whitespaces) {
    steps.push_back(replace_pattern(" +", " "));
    steps.push_back(replace_pattern("\\A ", ""));
    steps.push_back(
        replace_pattern(model.escape_whitespaces ? "[ " + kMark + "]+\\z" : " +\\z", ""));
  }
  for (const auto& [character, escape] : pieces.escapes) {
    steps.push_back(replace_text(character, escape));
  }
  if (model.escape_whitespaces) steps.push_back(replace_text(" ", mark));
  if (model.add_dummy_prefix && is_prefix_last) {
    steps.push_back(dummy_prefix(mark, added, pieces.escapes));
  }
  if (model.model_type == ModelType::kWord) {
    steps.push_back(replace_pattern("(?<!\\A)(?=" + kMark + ")", " "));
    steps.push_back(replace_pattern("(?<!\\A)\\z", " "));
  }
  return sequence("normalizers", std::move(steps));
}

json transformers_decoder(const ModelProto& model, const PieceNames& pieces, FreeCharacters& free) {
  // Spaces and the unknown piece's text use private marks until all pieces are one text. Only the
  // first space mark is removed, and not a space from an unknown piece or a byte.
  const std::string space = free.take(), unknown = free.take();
  json steps = json::array();
  if (model.model_type == ModelType::kWord) steps.push_back(replace_text(" ", ""));
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type != PieceType::kUnknown) continue;
    steps.push_back(replace_pattern("\\A" + quoted(pieces.names[id]) + "\\z", unknown));
  }
  steps.push_back(replace_text(kMark, space));
  if (!pieces.unused_mark.empty()) steps.push_back(replace_text(pieces.unused_mark, ""));
  for (const auto& [character, escape] : pieces.escapes) {
    steps.push_back(replace_text(escape, character));
  }
  if (model.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  if (model.add_dummy_prefix || model.remove_extra_whitespaces) {
    const std::string repeat = model.remove_extra_whitespaces ? "+" : "";
    steps.push_back(replace_pattern("\\A" + space + repeat, ""));
  }
  steps.push_back(replace_text(space, " "));
  steps.push_back(replace_text(unknown, model.unk_surface));
  return sequence("decoders", std::move(steps));
}

}  // namespace s2s::sentencepiece_plugin
