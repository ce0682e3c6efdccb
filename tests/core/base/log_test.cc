#include "base/log.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "common/temporary_folder.h"
#include "s2s/error.h"

namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct TemporaryFile {
  s2s::test::TemporaryFolder folder;
  std::string path = folder / "log.txt";
};

}  // namespace

TEST_CASE("the console shows what is important enough, the file holds all, at once") {
  const TemporaryFile file;
  std::ostringstream out;
  s2s::Console console(out, false);
  s2s::LogSettings settings;
  settings.file = file.path;
  s2s::Log log(&console, settings);
  log.debug("a detail");
  log.info("step {} of 3");
  log.warning("careful");
  log.error("broken");
  const std::string shown = out.str();
  CHECK(shown.find("a detail") == std::string::npos);
  CHECK(shown.find(" info: step {} of 3\n") != std::string::npos);
  CHECK(shown.find(" warning: careful\n") != std::string::npos);
  CHECK(shown.find(" error: broken\n") != std::string::npos);
  const std::string text = read(file.path);
  CHECK(text.find(" debug: a detail\n") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

TEST_CASE("a log file is appended to") {
  const TemporaryFile file;
  s2s::LogSettings settings;
  settings.file = file.path;
  for (int i = 0; i < 2; ++i) s2s::Log(nullptr, settings).info("again");
  const std::string text = read(file.path);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("a log that keeps nothing takes everything") {
  s2s::Log log;
  log.error("nobody reads this");
}

TEST_CASE("a log file that cannot be opened is an error") {
  s2s::LogSettings settings;
  settings.file = "/proc/none/log.txt";
  CHECK_THROWS_WITH_AS(s2s::Log(nullptr, settings), doctest::Contains("[io/write]"), s2s::Error);
}

TEST_CASE("the file of a log holds no controls and no lines of others") {
  const TemporaryFile file;
  s2s::LogSettings settings;
  settings.file = file.path;
  s2s::Log log(nullptr, settings);
  log.warning("name \033[2J\n2026-01-01 00:00:00.000 error: forged");
  const std::string text = read(file.path);
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text.find("name \\x1b[2J\n  2026-01-01") != std::string::npos);
}
