// Numbers of a configuration: every whole number of every component has an upper bound, and a
// configuration with an extreme number is an error with a message, or a model that costs nothing
// to describe.

#include <doctest/doctest.h>

#include <cmath>

#include "base/machine.h"
#include "common/places.h"
#include "config/run_blocks.h"
#include "plugin/plugin_host.h"
#include "run/meta_model.h"
#include "run/run_config.h"
#include "s2s/data/duplex_data.h"

namespace {

namespace fs = std::filesystem;

using namespace s2s;

std::string plugin_folder() { return test::binary_dir() + "/lib/s2s/plugins"; }

/// Whole numbers without an upper bound; seeds are no sizes.
std::vector<std::string> unbounded(const OptionTable& table, const std::string& owner) {
  std::vector<std::string> found;
  for (const OptionRow& row : table) {
    const bool is_whole = row.type == "int" || row.type == "int?" || row.type == "list of int";
    const bool is_seed = row.name.find("seed") != std::string::npos;
    if (is_whole && !is_seed && std::isinf(row.bounds.max)) found.push_back(owner + " " + row.name);
  }
  return found;
}

template <class T>
void add_unbounded(const Registry<T>& registry, int& components, std::vector<std::string>& found) {
  for (const auto& [name, component] : registry.entries()) {
    ++components;
    if (component.options == nullptr) continue;
    for (auto& one : unbounded(component.options(), name)) found.push_back(std::move(one));
  }
}

/// Paths of all numbers and empty values below `node`.
void add_numbers(const Config& node, const std::string& path, std::vector<std::string>& paths) {
  for (const auto& [key, child] : node.entries()) {
    add_numbers(child, path.empty() ? key : path + "." + key, paths);
  }
  for (size_t i = 0; i < node.items().size(); ++i) {
    add_numbers(node.items()[i], path + "." + std::to_string(i), paths);
  }
  const bool is_number = node.is_scalar() && !node.text().empty() &&
                         node.text().find_first_not_of("0123456789.e-+") == std::string::npos;
  if (is_number || node.is_null()) paths.push_back(path);
}

/// What `plan` and `train` do before a model has memory: the check, and the description of the
/// model. Errors: those for the user.
void check_and_describe(const run::ConfigArguments& arguments, const run::RunProgram& program) {
  const run::RunConfig config(arguments, RunPurpose::kTrain, program);
  config.check().findings.throw_if_any();
  run::build_meta_model(config.check().written, config.registries());
}

}  // namespace

TEST_CASE("every whole number of every component and block has an upper bound") {
  SearchInputs inputs;
  inputs.command_line = {plugin_folder()};
  PluginHost host(inputs);
  Registries registries;
  for (const PluginFile& file : host.scan().files) host.load_file(file, registries);
  int components = 0;
  std::vector<std::string> found;
  [&]<class... T>(const std::tuple<Registry<T>...>*) {
    (add_unbounded<T>(registries.of<T>(), components, found), ...);
  }(static_cast<const Registries::All*>(nullptr));
  CHECK(components > 25);
  for (auto& one : unbounded(list_options<ExpManagerBlock>(), "exp_manager")) found.push_back(one);
  for (auto& one : unbounded(list_options<TrainerBlock>(), "trainer")) found.push_back(one);
  for (auto& one : unbounded(list_options<ModelBlock>(), "model")) found.push_back(one);
  for (auto& one : unbounded(list_options<DuplexDataOptions>(), "data")) found.push_back(one);
  CHECK_MESSAGE(found.empty(), found.front());
}

TEST_CASE("an extreme number in any key is a message, and takes no memory") {
  run::RunProgram program;
  program.plugin_paths = {plugin_folder()};
  auto before = static_cast<double>(peak_memory_bytes());
  int cases = 0, refused = 0;
  for (const char* name : {"tiny.yaml", "text.yaml"}) {
    const std::string file = test::source_dir() + "/configs/" + name;
    check_and_describe({file, {"~data.synth"}}, program);
    std::vector<std::string> paths;
    add_numbers(run::RunConfig({file, {"~data.synth"}}, RunPurpose::kTrain, program).check().config,
                "", paths);
    CHECK(paths.size() > 100);
    for (const std::string& path : paths) {
      for (const char* value : {"-1", "0", "2147483648", "9223372036854775807", "1e309", ".nan"}) {
        const std::string word = path + "=" + value;
        ++cases;
        try {
          check_and_describe({file, {"~data.synth", word}}, program);
        } catch (const Error&) {
          ++refused;
        } catch (const std::exception& error) {
          FAIL_CHECK(word << ": " << std::string(error.what()));
        }
        const auto after = static_cast<double>(peak_memory_bytes());
        CHECK_MESSAGE(after - before < 300e6, word);
        before = after;
      }
    }
  }
  MESSAGE(cases << " cases, " << refused << " refused");
  CHECK(refused > cases / 4);
}

TEST_CASE("two numbers whose product is the number of ranks are a message, too") {
  run::RunProgram program;
  program.plugin_paths = {plugin_folder()};
  const std::string file = test::source_dir() + "/configs/tiny.yaml";
  const auto before = static_cast<double>(peak_memory_bytes());
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"trainer.devices=1024", "trainer.num_nodes=1048576"},
           {"trainer.devices=9223372036854775807", "trainer.num_nodes=2"},
           {"trainer.strategy={name: model_parallel, data_parallel_size: 1048576, "
            "tensor_parallel_size: 1048576}"}}) {
    std::vector<std::string> overrides = {"~data.synth"};
    overrides.insert(overrides.end(), words.begin(), words.end());
    CHECK_THROWS_AS(check_and_describe({file, overrides}, program), Error);
  }
  CHECK(static_cast<double>(peak_memory_bytes()) - before < 300e6);
}
