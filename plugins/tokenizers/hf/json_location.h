#pragma once
// A value of a JSON file together with its path in the file, for error messages.

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::hf {

class JsonLocation {
 public:
  /// `value` must outlive this object. `file` names the file, `path` the value in it ("" for the
  /// root).
  JsonLocation(const nlohmann::json& value, std::string file, std::string path = {});

  const nlohmann::json& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }
  /// "FILE: path".
  std::string where() const;
  /// The value for messages, shortened: "'Unigram'", "7", "a list".
  std::string shown() const;

  /// The member `key`, or null if there is none. Errors: [tokenizer/definition] if this is not an
  /// object.
  JsonLocation operator[](const char* key) const;
  JsonLocation item(size_t index) const;
  size_t size() const { return value_->size(); }

  /// Typed reads. Errors: [tokenizer/definition].
  std::string text() const;
  bool flag(bool otherwise) const;  // `otherwise` if null
  int64_t count() const;            // an integer >= 0
  /// A string of one character.
  std::string character() const;
  void expect_list() const;

  /// The member `type`. Errors: [tokenizer/definition].
  std::string type() const;
  /// Refuses members other than `type` and `keys`. Errors: [tokenizer/unsupported].
  void expect_only(std::initializer_list<std::string_view> keys) const;
  [[noreturn]] void refuse(const std::string& expected) const;       // [tokenizer/unsupported]
  [[noreturn]] void refuse_type(const std::string& expected) const;  // for the member `type`
  [[noreturn]] void damaged(const std::string& expected) const;      // [tokenizer/definition]

 private:
  const nlohmann::json* value_;
  std::string file_;
  std::string path_;
};

/// Calls `visit` for `location`, or, if its type is Sequence, for each item of its member
/// `list_key`, recursively. Null has no parts. Errors: [tokenizer/definition];
/// [tokenizer/unsupported] if Sequences are nested deeper than 8.
template <class Visit>
void for_each_part(const JsonLocation& location, const char* list_key, const Visit& visit,
                   int depth = 0) {
  if (location.is_null()) return;
  if (location.type() != "Sequence") {
    visit(location);
    return;
  }
  constexpr int kMaxDepth = 8;
  if (depth >= kMaxDepth) location.refuse("Sequences nested at most 8 deep");
  location.expect_only({list_key});
  const JsonLocation list = location[list_key];
  list.expect_list();
  for (size_t i = 0; i < list.size(); ++i) {
    for_each_part(list.item(i), list_key, visit, depth + 1);
  }
}

}  // namespace s2s::hf
