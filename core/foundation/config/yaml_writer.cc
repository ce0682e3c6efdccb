#include "config/yaml_writer.h"

#include <algorithm>
#include <cctype>

#include "config/interpolation.h"
#include "config/scalar.h"

namespace s2s {

namespace {

constexpr size_t kInlineWidth = 90;
constexpr size_t kCommentColumn = 48;

std::string write_scalar(const Config& node, const YamlStyle& style) {
  const std::string text = style.resolved ? escape_interpolation(node.text()) : node.text();
  return node.quoted() || is_string_text(text) ? yaml_string(text) : text;
}

std::string write_key(const std::string& key) {
  const bool plain = can_be_plain_yaml(key) && !is_null_text(key) && key != "???";
  return plain ? key : quoted_yaml(key);
}

/// An item of a list or map on one line, where `?` cannot start a plain scalar.
std::string write_flow_item(const Config& node, const YamlStyle& style) {
  return node.is_missing() ? quoted_yaml(node.text()) : write_yaml_inline(node, style);
}

class BlockWriter {
 public:
  explicit BlockWriter(const YamlStyle& style) : style_(style) {}

  void write(const Config& node, size_t indent) {
    if (node.is_map() && !node.entries().empty()) return write_map(node, indent);
    if (node.is_list() && !node.items().empty()) return write_list(node, indent);
    line(std::string(indent, ' ') + write_yaml_inline(node, style_), node);
  }
  std::string take() { return std::move(out_); }

 private:
  static bool fits_inline(const Config& node, const std::string& text) {
    if (node.is_map()) return node.entries().empty();
    const auto nested = [](const Config& item) { return !item.is_scalar() && !item.is_null(); };
    return text.size() <= kInlineWidth &&
           std::none_of(node.items().begin(), node.items().end(), nested);
  }

  void line(std::string text, const Config& node) {
    const std::string origin = node.origin().text();
    if (style_.show_origins && !origin.empty()) {
      text.resize(std::max(text.size() + 2, kCommentColumn), ' ');
      text += "# ";
      for (const char c : origin) text += std::iscntrl(static_cast<unsigned char>(c)) ? ' ' : c;
    }
    out_ += text + "\n";
  }

  /// "key: value" or "- value" on one line, or the head alone with the value below it.
  void write_child(const std::string& head, const Config& child, size_t indent) {
    const std::string text = write_yaml_inline(child, style_);
    if (fits_inline(child, text)) return line(head + " " + text, child);
    out_ += head + "\n";
    write(child, indent + 2);
  }

  void write_map(const Config& node, size_t indent) {
    for (const auto& [key, child] : node.entries()) {
      write_child(std::string(indent, ' ') + write_key(key) + ":", child, indent);
    }
  }

  void write_list(const Config& node, size_t indent) {
    for (const Config& item : node.items()) {
      const size_t start = out_.size();
      write_child(std::string(indent, ' ') + "-", item, indent);
      join_dash(item, start, indent);
    }
  }

  /// Moves a map's first key after its dash: "-\n  a: 1" becomes "- a: 1".
  void join_dash(const Config& item, size_t start, size_t indent) {
    if (!item.is_map() || item.entries().empty()) return;
    out_.erase(start + indent + 1, 1 + indent + 1);
  }

  YamlStyle style_;
  std::string out_;
};

}  // namespace

std::string write_yaml(const Config& config, const YamlStyle& style) {
  BlockWriter writer(style);
  writer.write(config, 0);
  return writer.take();
}

std::string write_yaml_inline(const Config& config, const YamlStyle& style) {
  std::string out;
  switch (config.kind()) {
    case Config::Kind::kNull:
      return "null";
    case Config::Kind::kScalar:
      return write_scalar(config, style);
    case Config::Kind::kList:
      for (const Config& item : config.items()) {
        out += (out.empty() ? "" : ", ") + write_flow_item(item, style);
      }
      return "[" + out + "]";
    case Config::Kind::kMap:
      for (const auto& [key, child] : config.entries()) {
        out += (out.empty() ? "" : ", ") + write_key(key) + ": " + write_flow_item(child, style);
      }
      return "{" + out + "}";
  }
  return out;
}

bool same_value(const Config& a, const Config& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_scalar()) {
    if (a.text() != b.text()) return false;
    return a.quoted() == b.quoted() || is_string_text(a.text());
  }
  if (a.items().size() != b.items().size() || a.entries().size() != b.entries().size()) {
    return false;
  }
  for (size_t i = 0; i < a.items().size(); ++i) {
    if (!same_value(a.items()[i], b.items()[i])) return false;
  }
  for (size_t i = 0; i < a.entries().size(); ++i) {
    if (a.entries()[i].first != b.entries()[i].first ||
        !same_value(a.entries()[i].second, b.entries()[i].second)) {
      return false;
    }
  }
  return true;
}

}  // namespace s2s
