#include "added_tokens.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "unicode.h"

namespace s2s::hf {
namespace {

bool is_single_word(std::string_view text, const TokenSpan& span) {
  const bool word_before = span.begin > 0 && is_word(code_point_before(text, span.begin).value);
  const bool word_after = span.end < text.size() && is_word(code_point_at(text, span.end).value);
  return !word_before && !word_after;
}

/// Start of the white space that ends at `end`.
size_t space_begin(std::string_view text, size_t end) {
  while (end > 0) {
    const CodePoint c = code_point_before(text, end);
    if (!is_white_space(c.value)) break;
    end -= c.size;
  }
  return end;
}

size_t space_end(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const CodePoint c = code_point_at(text, begin);
    if (!is_white_space(c.value)) break;
    begin += c.size;
  }
  return begin;
}

AddedToken read_token(const JsonLocation& location) {
  location.expect_only(
      {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.id = static_cast<int32_t>(location["id"].count());
  token.content = location["content"].text();
  token.single_word = location["single_word"].flag(false);
  token.lstrip = location["lstrip"].flag(false);
  token.rstrip = location["rstrip"].flag(false);
  token.normalized = location["normalized"].flag(true);
  token.special = location["special"].flag(false);
  return token;
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonLocation& location) {
  std::vector<AddedToken> tokens;
  if (location.is_null()) return tokens;
  location.expect_list();
  for (size_t i = 0; i < location.size(); ++i) {
    AddedToken token = read_token(location.item(i));
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

void add_special_tokens(nlohmann::json& root, const std::vector<std::string>& contents) {
  if (contents.empty() || !root.is_object()) return;  // whoever reads the file refuses it
  nlohmann::json& added = root["added_tokens"];
  if (added.is_null()) added = nlohmann::json::array();
  if (!added.is_array()) return;
  const auto member = [](const nlohmann::json& object, const char* name) {
    return object.is_object() && object.contains(name) ? object[name] : nlohmann::json();
  };
  const nlohmann::json vocabulary = member(member(root, "model"), "vocab");
  int64_t next_id = 0;
  const auto pass = [&next_id](const nlohmann::json& id) {
    if (id.is_number_integer()) next_id = std::max(next_id, id.get<int64_t>() + 1);
  };
  if (vocabulary.is_object()) {
    for (const auto& [piece, id] : vocabulary.items()) pass(id);
  }
  for (const nlohmann::json& token : added) pass(member(token, "id"));
  for (const std::string& content : contents) {
    const auto known = std::find_if(added.begin(), added.end(), [&](const nlohmann::json& token) {
      return member(token, "content") == content;
    });
    if (known != added.end()) {
      (*known)["special"] = true;
      continue;
    }
    const bool is_piece = vocabulary.is_object() && vocabulary.contains(content);
    added.push_back({{"id", is_piece ? vocabulary[content] : nlohmann::json(next_id)},
                     {"content", content},
                     {"normalized", false},
                     {"special", true}});
    if (!is_piece) ++next_id;
  }
}

void TokenFinder::add(std::string_view text, const AddedToken& token) {
  if (text.empty()) return;
  int32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    int32_t next = child(node, byte);
    if (next < 0) {
      next = static_cast<int32_t>(nodes_.size());
      nodes_.emplace_back();
      nodes_[static_cast<size_t>(node)].next.emplace_back(byte, next);
    }
    node = next;
  }
  nodes_[static_cast<size_t>(node)].token = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
  bool& starts = starts_[static_cast<uint8_t>(text[0])];
  if (!starts) first_bytes_ += text[0];
  starts = true;
}

int32_t TokenFinder::child(int32_t node, uint8_t byte) const {
  for (const auto& [key, next] : nodes_[static_cast<size_t>(node)].next) {
    if (key == byte) return next;
  }
  return -1;
}

size_t TokenFinder::next_candidate(std::string_view text, size_t from) const {
  if (from >= text.size()) return text.npos;
  if (first_bytes_.size() == 1) {
    const void* found = std::memchr(text.data() + from, first_bytes_[0], text.size() - from);
    return found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : text.npos;
  }
  while (from < text.size() && !starts_[static_cast<uint8_t>(text[from])]) ++from;
  return from < text.size() ? from : text.npos;
}

bool TokenFinder::find(std::string_view text, size_t from, TokenSpan& found,
                       const AddedToken*& token) const {
  for (size_t at = next_candidate(text, from); at != text.npos; at = next_candidate(text, at + 1)) {
    int32_t node = 0;
    token = nullptr;
    for (size_t i = at; i < text.size(); ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node < 0) break;
      const int32_t here = nodes_[static_cast<size_t>(node)].token;
      if (here < 0) continue;
      token = &tokens_[static_cast<size_t>(here)];
      found = {at, i + 1, token->id};
    }
    if (token) return true;
  }
  return false;
}

void TokenFinder::split(std::string_view text, std::vector<TokenSpan>& out) const {
  out.clear();
  size_t done = 0;
  TokenSpan found;
  const AddedToken* token = nullptr;
  for (size_t from = 0; find(text, from, found, token);) {
    from = found.end;
    if (token->single_word && !is_single_word(text, found)) continue;
    // White space that the previous token consumed is not consumed again.
    if (token->lstrip) found.begin = std::max(space_begin(text, found.begin), done);
    if (token->rstrip) found.end = space_end(text, found.end);
    if (done < found.begin) out.push_back({done, found.begin, -1});
    out.push_back(found);
    done = found.end;
  }
  if (done < text.size()) out.push_back({done, text.size(), -1});
}

}  // namespace s2s::hf
