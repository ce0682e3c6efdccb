#include "config/interpolation_text.h"

#include <algorithm>

#include "config/interpolation.h"

namespace s2s {

size_t closing_brace(const std::string& text, size_t start) {
  int depth = 0;
  for (size_t i = start; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string::npos;
}

void Resolved::add_text(const std::string& literal) {
  text += literal;
  expression += escape_interpolation(literal);
}

void Resolved::add(const Resolved& part) {
  text += part.text;
  has_variables = has_variables || part.has_variables;
  // Each pair of backslashes before an interpolation is one backslash.
  const size_t end = expression.find_last_not_of('\\');
  const size_t backslashes = expression.size() - (end == std::string::npos ? 0 : end + 1);
  if (part.expression.starts_with("${")) expression.append(backslashes, '\\');
  expression += part.expression;
}

std::optional<std::vector<Piece>> split_interpolations(const std::string& text) {
  std::vector<Piece> pieces(1);
  size_t backslashes = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool opens = text.compare(i, 2, "${") == 0;
    if (!opens) {
      backslashes = text[i] == '\\' ? backslashes + 1 : 0;
      pieces.back().text += text[i];
      continue;
    }
    std::string& literal = pieces.back().text;
    literal.erase(literal.size() - std::min(literal.size(), (backslashes + 1) / 2));
    if (backslashes % 2 == 1) {
      pieces.back().text += "${";
      ++i;
    } else {
      const size_t end = closing_brace(text, i);
      if (end == std::string::npos) return std::nullopt;
      pieces.push_back({true, text.substr(i + 2, end - i - 2)});
      pieces.emplace_back();
      i = end;
    }
    backslashes = 0;
  }
  std::erase_if(pieces, [](const Piece& p) { return !p.is_interpolation && p.text.empty(); });
  return pieces;
}

std::string escape_interpolation(const std::string& text) {
  std::string out;
  size_t backslashes = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "${") == 0) out.append(backslashes + 1, '\\');
    backslashes = text[i] == '\\' ? backslashes + 1 : 0;
    out += text[i];
  }
  return out;
}

void escape_interpolations(Config& config) {
  if (config.is_scalar() && config.text().find("${") != std::string::npos) {
    Config escaped = Config::scalar(escape_interpolation(config.text()), config.quoted());
    escaped.set_origin(config.origin());
    config = std::move(escaped);
  }
  for (Config& item : config.items()) escape_interpolations(item);
  for (auto& [key, child] : config.entries()) escape_interpolations(child);
}

std::optional<std::string> environment_expression(const Config& node) {
  const std::string& via = node.origin().via;
  if (!node.is_scalar()) return std::nullopt;
  if (via.starts_with(kText)) return via.substr(sizeof(kText) - 1);
  if (!node.origin().source.starts_with(kEnvironment) || !via.starts_with(kReference)) {
    return std::nullopt;
  }
  const size_t end = closing_brace(via, 0);
  return end == std::string::npos ? std::nullopt : std::optional(via.substr(0, end + 1));
}

std::vector<std::string> environment_variables(const Config& node) {
  std::vector<std::string> names;
  const std::string text = environment_expression(node).value_or("");
  for (size_t at = text.find(kReference); at != std::string::npos; at = text.find(kReference, at)) {
    at += sizeof(kReference) - 1;
    names.push_back(text.substr(at, text.find_first_of(",}", at) - at));
  }
  return names;
}

}  // namespace s2s
