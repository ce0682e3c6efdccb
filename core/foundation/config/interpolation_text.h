#pragma once
// Splits texts at their interpolations. Also keeps expressions that give a value from the
// environment again.

#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// A part of a text: literal text, or the inside of an interpolation (without "${" and "}").
struct Piece {
  bool is_interpolation = false;
  std::string text;
};

/// Prefixes that mark values of the environment: of Origin::source, of Origin::via, and of
/// Origin::via for a text that contains variables.
inline constexpr char kEnvironment[] = "environment ";
inline constexpr char kReference[] = "${oc.env:";
inline constexpr char kText[] = "text ";

/// The result of resolving a text.
struct Resolved {
  std::string text;
  std::string expression;  // evaluates to `text`; literal text and variables
  bool has_variables = false;

  void add_text(const std::string& literal);
  void add(const Resolved& part);
};

/// The end of the interpolation that starts at `start` ("${"), or npos.
size_t closing_brace(const std::string& text, size_t start);

/// Halves the backslashes before each "${"; an odd number makes it literal. Nothing if a brace is
/// open.
std::optional<std::vector<Piece>> split_interpolations(const std::string& text);

}  // namespace s2s
