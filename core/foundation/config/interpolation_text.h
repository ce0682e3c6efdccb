#pragma once
// Texts with interpolations in them: taken apart, and put together again where a value is to keep
// what the environment gave it as a reference.

#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// A text cut into literal pieces and interpolations (without "${" and "}").
struct Piece {
  bool is_interpolation = false;
  std::string text;
};

/// Of values that came from the environment: how Origin::source begins, how Origin::via begins, and
/// how Origin::via begins for a text with variables in it.
inline constexpr char kEnvironment[] = "environment ";
inline constexpr char kReference[] = "${oc.env:";
inline constexpr char kText[] = "text ";

/// What interpolations came to.
struct Resolved {
  std::string text;
  std::string expression;  // gives `text` again; of literal text and of variables
  bool has_variables = false;

  void add_text(const std::string& literal);
  void add(const Resolved& part);
};

/// The end of the interpolation that starts at `start` ("${"), or npos.
size_t closing_brace(const std::string& text, size_t start);

/// Backslashes before "${" are halved; an odd one makes it literal. Nothing when a brace is open.
std::optional<std::vector<Piece>> split_interpolations(const std::string& text);

}  // namespace s2s
