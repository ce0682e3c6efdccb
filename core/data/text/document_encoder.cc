#include "text/document_encoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "text/text_errors.h"
#include "text/token_spans.h"

namespace s2s::data {
namespace {

using jinja::Mark;
using jinja::MarkedText;

bool is_space(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Joins consecutive marks of the same message, because a template may write its reasoning and the
/// rest of its content separately.
std::vector<Mark> joined(const std::vector<Mark>& marks) {
  std::vector<Mark> turns;
  for (const Mark& mark : marks) {
    if (mark.tag < 0 || mark.begin == mark.end) continue;
    if (!turns.empty() && turns.back().tag == mark.tag) {
      turns.back().end = std::max(turns.back().end, mark.end);
    } else {
      turns.push_back(mark);
    }
  }
  return turns;
}

bool is_trained(const TextLine& line, int64_t tag) {
  return tag >= 0 && line.is_trained[static_cast<size_t>(tag)];
}

/// Returns false for a generation block that contains only messages of weight 0, which are not
/// learned.
bool is_trained_block(const TextLine& line, const std::vector<Mark>& marks, const Mark& block) {
  bool has_other = false;
  for (const Mark& mark : marks) {
    const bool is_inside = mark.tag >= 0 && mark.begin < block.end && mark.end > block.begin;
    if (is_inside && is_trained(line, mark.tag)) return true;
    has_other = has_other || is_inside;
  }
  return !has_other;
}

}  // namespace

/// A text and its tokens.
struct DocumentEncoder::Encoded {
  MarkedText text;
  std::vector<int64_t> ids;
  bool has_spans = false;
  std::vector<TokenSpan> spans;  // parallel to ids, if has_spans
};

DocumentEncoder::DocumentEncoder(const DocumentOptions& options, const Tokenizer& tokenizer,
                                 const std::string& path, const std::string& base_dir)
    : options_(options),
      tokenizer_(tokenizer),
      path_(path),
      base_dir_(base_dir),
      special_(tokenizer.known_special_ids()) {
  if (special_.eos < 0) throw text_errors::no_eos(path);
  if (special_.pad < 0) special_.pad = special_.eos;  // fills rows and is never read
  for (const int64_t id : frame_ids()) {
    splits_special_ = splits_special_ || tokenizer.encode(tokenizer.piece(id)) != std::vector{id};
  }
}

const ChatFormat& DocumentEncoder::chat_format() const {
  if (!chat_format_) {
    chat_format_.emplace(ChatTemplateOptions{options_.chat_template, path_, base_dir_}, tokenizer_);
  }
  return *chat_format_;
}

std::vector<int64_t> DocumentEncoder::frame_ids() const {
  return special_.bos < 0 ? std::vector{special_.eos} : std::vector{special_.bos, special_.eos};
}

/// Finds control tokens that the template has written, for tokenizers that do not find them.
std::vector<int64_t> DocumentEncoder::encode_with_special(const std::string& text) const {
  if (!splits_special_) return tokenizer_.encode(text);
  std::vector<int64_t> ids;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.size();
    int64_t special = -1;
    for (const int64_t id : frame_ids()) {
      const size_t found = text.find(tokenizer_.piece(id), begin);
      if (found >= end) continue;
      end = found;
      special = id;
    }
    if (end > begin) {
      const auto more = tokenizer_.encode(std::string_view(text).substr(begin, end - begin));
      ids.insert(ids.end(), more.begin(), more.end());
    }
    if (special < 0) break;
    ids.push_back(special);
    begin = end + tokenizer_.piece(special).size();
  }
  return ids;
}

std::vector<int64_t> DocumentEncoder::encode_prompt(const std::string& text, bool is_chat) const {
  std::vector<int64_t> ids = is_chat ? encode_with_special(text) : tokenizer_.encode(text);
  const bool has_bos = is_chat && !ids.empty() && ids.front() == special_.bos;
  if (special_.bos >= 0 && !has_bos) ids.insert(ids.begin(), special_.bos);
  return ids;
}

DocumentEncoder::Encoded DocumentEncoder::encode_text(const MarkedText& text, bool is_chat) const {
  Encoded encoded;
  encoded.text = text;
  encoded.ids = is_chat ? encode_with_special(text.bytes()) : tokenizer_.encode(text.bytes());
  return encoded;
}

/// Adds BOS and EOS. A chat's template may write white space after the EOS.
TokenDocument DocumentEncoder::framed(Encoded& encoded, bool is_chat) const {
  std::vector<int64_t>& ids = encoded.ids;
  std::vector<TokenSpan>& spans = encoded.spans;
  size_t last = ids.size();
  while (is_chat && last > 0 && ids[last - 1] != special_.eos &&
         is_space(tokenizer_.decode({ids[last - 1]})) &&
         !tokenizer_.decode({ids[last - 1]}).empty()) {
    --last;
  }
  const bool has_eos = last > 0 && ids[last - 1] == special_.eos;
  if (special_.bos >= 0 && (ids.empty() || ids.front() != special_.bos)) {
    ids.insert(ids.begin(), special_.bos);
    if (encoded.has_spans) spans.insert(spans.begin(), TokenSpan{0, 0});
  }
  if (!has_eos) {
    ids.push_back(special_.eos);
    const size_t end = encoded.text.size();
    if (encoded.has_spans) spans.push_back({end, end});
  }
  return TokenDocument{ids, std::vector<bool>(ids.size(), false)};
}

/// Whether a token can end a turn: its piece is in the text, and decoding skips it.
bool DocumentEncoder::is_special_token(const Encoded& encoded, size_t index) const {
  const int64_t id = encoded.ids[index];
  if (id == special_.eos) return true;
  const TokenSpan& span = encoded.spans[index];
  const std::string_view bytes =
      std::string_view(encoded.text.bytes()).substr(span.begin, span.end - span.begin);
  const std::string piece = tokenizer_.piece(id);
  return !piece.empty() && bytes.ends_with(piece) && tokenizer_.decode({id}).empty();
}

/// Sets the labels for `labels: response`.
void DocumentEncoder::label(const Encoded& encoded, const TextLine& line,
                            TokenDocument& document) const {
  const auto covers = [&](size_t i, const Mark& mark) {
    const TokenSpan& span = encoded.spans[i];
    return span.begin < mark.end && span.end > mark.begin;
  };
  const std::vector<Mark>& marks = encoded.text.marks();
  if (line.form == TextLine::Form::kChat && chat_format().has_generation_blocks()) {
    for (const Mark& block : marks) {
      if (block.tag != jinja::kGenerated || !is_trained_block(line, marks, block)) continue;
      for (size_t i = 0; i < encoded.ids.size(); ++i) {
        if (covers(i, block)) document.is_label[i] = true;
      }
    }
    return;
  }
  for (const Mark& turn : joined(marks)) {
    if (!is_trained(line, turn.tag)) continue;
    size_t after = 0;  // the first token after the content
    for (size_t i = 0; i < encoded.ids.size(); ++i) {
      if (covers(i, turn)) document.is_label[i] = true;
      if (encoded.spans[i].begin < turn.end) after = i + 1;
    }
    size_t end = after;
    const auto is_blank = [&](size_t i) {
      const TokenSpan& span = encoded.spans[i];
      return !is_special_token(encoded, i) &&
             is_space(
                 std::string_view(encoded.text.bytes()).substr(span.begin, span.end - span.begin));
    };
    while (end < encoded.ids.size() && is_blank(end)) ++end;
    if (end == encoded.ids.size() || !is_special_token(encoded, end)) continue;
    for (size_t i = after; i <= end; ++i) document.is_label[i] = true;
  }
}

TokenDocument DocumentEncoder::encode(const std::string& json, const LineOrigin& origin) const {
  const TextLine line = parse_text_line(json, options_, origin.file, origin.line);
  const bool is_chat = line.form == TextLine::Form::kChat;
  const bool is_all = options_.labels == "all" || line.form == TextLine::Form::kText;
  MarkedText text(line.text);
  if (is_chat) {
    text = chat_format().render(line.messages, false, origin.text(), line.tools);
  } else if (line.form == TextLine::Form::kPair) {
    text.append(MarkedText::from(line.response, 0));
  }
  Encoded encoded = encode_text(text, is_chat);
  if (!is_all) {
    encoded.has_spans = true;
    encoded.spans = find_token_spans(encoded.ids, text.bytes(), tokenizer_);
    if (encoded.spans.size() < encoded.ids.size()) {
      const size_t at = encoded.spans.empty() ? 0 : encoded.spans.back().end;
      throw text_errors::token_spans(origin.text(), text.bytes().substr(at, 20));
    }
  }
  TokenDocument document = framed(encoded, is_chat);
  if (is_all) {
    document.is_label.assign(document.ids.size(), true);
  } else if (is_chat) {
    label(encoded, line, document);
  } else {
    const size_t response = line.text.size();
    for (size_t i = 0; i < encoded.ids.size(); ++i) {
      document.is_label[i] = encoded.spans[i].end > response || i + 1 == encoded.ids.size();
    }
  }
  document.is_label[0] = false;
  return document;
}

std::string DocumentEncoder::text_of(const std::string& json, const LineOrigin& origin) const {
  const TextLine line = parse_text_line(json, options_, origin.file, origin.line);
  if (line.form != TextLine::Form::kChat) return line.text + line.response;
  std::string text;
  for (size_t i = 0; i < line.is_trained.size(); ++i) {
    if (!line.is_trained[i]) continue;
    const jinja::Value* content =
        line.messages.items()->items[i].dict()->find(std::string_view("content"));
    if (content == nullptr || content->is<jinja::None>()) continue;
    text += (text.empty() ? "" : " ") + to_text(*content).bytes();
  }
  return text;
}

}  // namespace s2s::data
