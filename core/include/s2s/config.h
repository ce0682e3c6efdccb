#pragma once
// A configuration tree. Each value remembers where it was written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace s2s {

/// Where a value came from: a line of a file, a command-line override or a default.
struct Origin {
  std::string source;  // file path, "command line", "default of KIND:NAME", ...
  int line = 0;        // 1-based; 0 when the source has no lines
  int column = 0;
  std::string via =
      {};  // "${a.b} at file:line:column" when the value came through an interpolation
  /// "file:line:column", or only the source when it has no lines; "" when the origin is unknown.
  std::string text() const;
};

/// One node: null, scalar, list or map. A value type. Maps keep the order of the file.
class Config {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };

  Config() = default;
  /// Create nodes without an origin.
  static Config scalar(std::string text, bool quoted = false);
  static Config list(std::vector<Config> items = {});
  static Config map();

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_scalar() const { return kind_ == Kind::kScalar; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_map() const { return kind_ == Kind::kMap; }

  /// The scalar's text; "" for other kinds. A quoted scalar is always a string, even if it looks
  /// like a number.
  const std::string& text() const { return text_; }
  /// True for `???`, which marks a value that the user must set.
  bool is_missing() const;
  bool quoted() const { return quoted_; }
  const std::vector<Config>& items() const { return items_; }
  std::vector<Config>& items() { return items_; }
  const std::vector<std::pair<std::string, Config>>& entries() const { return entries_; }
  std::vector<std::pair<std::string, Config>>& entries() { return entries_; }

  /// The child of a map, or null when there is none.
  const Config* find(std::string_view key) const;
  Config* find(std::string_view key);
  /// The node at a dotted path ("a.b.0.c"; numbers index lists), or null when there is none.
  const Config* find_path(std::string_view dotted_path) const;
  /// The child of a map. Creates the child if it is missing, and makes this node a map.
  Config& operator[](std::string_view key);
  void erase(std::string_view key);

  /// Typed reads. `path` names the node in messages. Plain scalars follow YAML 1.2, and `1e-4` is
  /// also a number. An integer can be read as a double, and any scalar as a string. Errors:
  /// [config/type] with path, origin, value and what was expected; [config/missing] for `???`.
  bool as_bool(std::string_view path) const;
  int64_t as_int(std::string_view path) const;
  double as_double(std::string_view path) const;
  std::string as_string(std::string_view path) const;

  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }

 private:
  Kind kind_ = Kind::kNull;
  std::string text_;
  bool quoted_ = false;
  std::vector<Config> items_;
  std::vector<std::pair<std::string, Config>> entries_;
  Origin origin_;
};

}  // namespace s2s
