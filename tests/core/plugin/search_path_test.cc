#include "plugin/search_path.h"

#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "core/plugin/fixtures.h"

using namespace s2s;
using namespace s2s::test;

namespace fs = std::filesystem;

namespace {

std::vector<std::string> origins(const SearchPath& search) {
  std::vector<std::string> all;
  for (const SearchDirectory& directory : search.directories) all.push_back(directory.origin);
  return all;
}

}  // namespace

TEST_CASE("the command line comes first, then the environment, the config and the prefix") {
  const TemporaryFolder scratch;
  for (const char* name : {"a", "b", "c", "prefix/lib/s2s/plugins"}) {
    fs::create_directories(scratch / name);
  }
  SearchInputs inputs;
  inputs.command_line = {scratch / "a"};
  inputs.environment = ":" + scratch / "b" + "::" + scratch / "missing" + ":";
  inputs.config.paths = {"../c"};
  inputs.config_dir = scratch / "a";
  inputs.executable = scratch / "prefix/bin/s2s-run";
  const SearchPath search = resolve_search_path(inputs);
  CHECK(origins(search) == std::vector<std::string>{"--plugin-path", "S2S_PLUGIN_PATH",
                                                    "S2S_PLUGIN_PATH", "plugins.paths",
                                                    "next to s2s-run"});
  CHECK(search.directories[1].exists);
  CHECK_FALSE(search.directories[2].exists);
  CHECK(search.directories[3].path == scratch / "c");
  CHECK(search.directories[4].path == scratch / "prefix/lib/s2s/plugins");
}

TEST_CASE("a folder mentioned twice is searched once, where it was mentioned first") {
  SearchInputs inputs = fixture_inputs({"good", "throws", "good"});
  inputs.environment = fixture_dir("throws") + "/../throws";
  const SearchPath search = resolve_search_path(inputs);
  REQUIRE(search.directories.size() == 3);
  CHECK(search.directories[0].path == fixture_dir("good"));
  CHECK(search.directories[1].origin == "--plugin-path");
}

TEST_CASE("a folder that the user named and that is not there is an error") {
  const Error error = error_of([] { resolve_search_path(fixture_inputs({"nothing_here"})); });
  CHECK(error.id() == "plugin/directory");
  CHECK(contains(error.message(), "nothing_here"));
  CHECK(contains(error.message(), "--plugin-path"));
  SearchInputs inputs = fixture_inputs({});
  inputs.config.paths = {fixture_file("good")};
  const Error file_error = error_of([&] { resolve_search_path(inputs); });
  CHECK(contains(file_error.message(), "it is a file"));
  CHECK(contains(file_error.message(), "plugins.load"));
}

TEST_CASE("a file of plugins.load is found beside the config or in a searched folder") {
  SearchInputs inputs = fixture_inputs({"throws"});
  inputs.config_dir = fixture_dir("good");
  inputs.config.load = {fs::path(fixture_file("good")).filename(),
                        fs::path(fixture_file("throws")).filename()};
  const SearchPath search = resolve_search_path(inputs);
  CHECK(search.load == std::vector<std::string>{fixture_file("good"), fixture_file("throws")});
  inputs.config.load = {"libnothing.so"};
  const Error error = error_of([&] { resolve_search_path(inputs); });
  CHECK(error.id() == "plugin/file");
  CHECK(contains(error.message(), fixture_dir("good") + "/libnothing.so"));
  CHECK(contains(error.message(), fixture_dir("throws") + "/libnothing.so"));
}

TEST_CASE("the plugins block of a config is read with its relative paths") {
  Config root = Config::map();
  root["plugins"]["paths"] = Config::list({Config::scalar("extra")});
  const SearchInputs inputs = process_search_inputs({"x"}, root, "configs");
  CHECK(inputs.command_line == std::vector<std::string>{"x"});
  CHECK(inputs.config.paths == std::vector<std::string>{"extra"});
  CHECK(inputs.config_dir == "configs");
  root["plugins"]["path"] = Config::scalar("extra");
  const Error error = error_of([&] { process_search_inputs({}, root, "."); });
  CHECK(error.id() == "config/unknown-key");
}
