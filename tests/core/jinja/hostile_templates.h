#pragma once
// Templates that need much more work or memory than their length.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "jinja/template.h"

namespace s2s::test {

inline std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// first + text(0) + text(1) + ...
template <class TextOf>
std::string listed(const std::string& first, int count, const TextOf& text_of) {
  std::string all = first;
  for (int i = 0; i < count; ++i) {
    if (i > 0) all += ',';
    all += text_of(i);
  }
  return all;
}

/// Renders within small limits, which have to be kept by counting: the clock is for what is not
/// counted, and fails the test. Why it ended; "": with a text.
inline std::string ending_of(const std::string& source) {
  jinja::MeterLimits limits;
  limits.work = 120'000;
  limits.live_bytes = int64_t{24} << 20;
  limits.seconds = 10;
  jinja::RenderCost cost;
  std::string ending;
  try {
    jinja::Template(source).render({}, limits, &cost);
  } catch (const jinja::TemplateError& error) {
    ending = error.what();
    CHECK(error.line() == 1);
  }
  CHECK(cost.work <= limits.work);
  CHECK(cost.most_live_bytes <= limits.live_bytes);
  CHECK_MESSAGE(ending.find("processor time") == std::string::npos, ending);
  return ending;
}

/// Whether a template was ended by a limit of what it may cost.
inline bool is_limit(std::string_view ending) {
  constexpr std::string_view kLimits[] = {"the template runs too long: it needs more than 120000 ",
                                          "holds more than 24 MiB",
                                          "longer than 64 MB",
                                          "longer than 1000000 items",
                                          "becomes too large",
                                          "calls itself too deep"};
  return std::any_of(std::begin(kLimits), std::end(kLimits), [&](std::string_view limit) {
    return ending.find(limit) != std::string_view::npos;
  });
}

}  // namespace s2s::test
