#include "config/unknown_keys.h"

#include <doctest/doctest.h>

#include "config/config_errors.h"
#include "config_test_support.h"

namespace s2s {
namespace {

/// What is said of these unknown keys of a configuration.
std::string said_of(const std::string& text, const std::vector<std::string>& paths) {
  const Config config = test::yaml(text);
  Findings findings;
  UnknownKeys unknown;
  for (const std::string& path : paths) {
    const size_t dot = path.rfind('.');
    const std::string parent = dot == std::string::npos ? "" : path.substr(0, dot);
    const std::string key = dot == std::string::npos ? path : path.substr(dot + 1);
    unknown.note(findings, path);
    findings.add(unknown_key_error(key, parent, *config.find_path(path), {"known_one"}));
  }
  unknown.suggest_places(config, findings);
  std::string said;
  for (const Error& error : findings.errors()) said += error.message() + "\n";
  return said;
}

TEST_CASE("a key that is known elsewhere is sent there") {
  const std::string said = said_of("{lr: 1, optimizer: {lr: 2}, schedule: {lr: 3}}", {"lr"});
  CHECK(said.find("; did you mean 'optimizer.lr' or 'schedule.lr'?") != std::string::npos);
  CHECK(said.find("known:") == std::string::npos);
}

TEST_CASE("a key that nobody knows, that is everywhere, or has a near name stays as it was") {
  CHECK(said_of("{a: {zzz: 1}, b: {zzz: 1}}", {"a.zzz", "b.zzz"}).find("did you mean") ==
        std::string::npos);
  CHECK(said_of("{x: 1, a: {x: 1}, b: {x: 1}, c: {x: 1}, d: {x: 1}}", {"x"}).find("did you mean") ==
        std::string::npos);
  CHECK(
      said_of("{known_on: 1, a: {known_on: 1}}", {"known_on"}).find("did you mean 'known_one'?") !=
      std::string::npos);
}

}  // namespace
}  // namespace s2s
