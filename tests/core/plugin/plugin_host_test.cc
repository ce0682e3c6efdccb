#include "plugin/plugin_host.h"

#include <doctest/doctest.h>

#include <type_traits>

#include "common/temporary_folder.h"
#include "core/plugin/fixtures.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/metric.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// Asks for a metric as a config at x.yaml:3:9 does.
Error error_of_asking(const std::vector<std::string>& fixtures, const std::string& name) {
  return error_of([&] {
    PluginHost host(fixture_inputs(fixtures));
    Registries registries;
    host.install(registries);
    Config node = Config::map();
    node["name"] = Config::scalar(name);
    Origin origin;
    origin.source = "x.yaml";
    origin.line = 3;
    origin.column = 9;
    node["name"].set_origin(origin);
    registries.get<Metric>(name, node, "eval.metric");
  });
}

BuildContext context_at(const char* path) {
  BuildContext context;
  context.path = path;
  return context;
}

void add_metric(Registries& registries, const char* name) {
  Component<Metric> component;
  component.name = name;
  registries.of<Metric>().add(std::move(component));
}

double value_of(const Registries& registries, const std::string& name) {
  Config node = Config::map();
  node["name"] = Config::scalar(name);
  node["weight"] = Config::scalar("2.0");
  const auto metric = registries.create<Metric>(node, context_at("eval.metric"));
  MetricExample example;
  example.hypothesis.text = "four";
  metric->add(example);
  return metric->values().at(0).value;
}

template <class T, class Context>
constexpr bool kBuildsWith =
    std::is_assignable_v<decltype(Component<T>::create)&,
                         std::unique_ptr<T> (*)(const Config&, const Context&)>;

}  // namespace

TEST_CASE("a component is built with the context of its kind and no other") {
  CHECK(kBuildsWith<Metric, BuildContext>);
  CHECK(kBuildsWith<Codec, ModelContext>);
  CHECK(kBuildsWith<DataSource, DataContext>);
  CHECK(kBuildsWith<Communicator, ProcessContext>);
  CHECK_FALSE(kBuildsWith<Metric, DataContext>);
  CHECK_FALSE(kBuildsWith<Codec, BuildContext>);
  CHECK_FALSE(kBuildsWith<DataSource, ModelContext>);
  CHECK_FALSE(kBuildsWith<ParallelStrategy, BuildContext>);
}

TEST_CASE("asking for a name loads the plugin that provides it, once") {
  PluginHost host(fixture_inputs({"throws", "good"}));
  Registries registries;
  host.install(registries);
  CHECK(host.loaded().empty());
  CHECK(value_of(registries, "fixture_good") == doctest::Approx(8.0));
  CHECK(value_of(registries, "fixture_good") == doctest::Approx(8.0));
  REQUIRE(host.loaded().size() == 1);
}

TEST_CASE("the host tells which file served which name, with the file's hash and note") {
  PluginHost host(fixture_inputs({"good"}));
  Registries registries;
  host.install(registries);
  registries.get<Metric>("fixture_good");
  REQUIRE(host.loaded().size() == 1);
  const LoadedPlugin& loaded = host.loaded().front();
  CHECK(loaded.path == fixture_file("good"));
  CHECK(loaded.facts.version == "0.1.0");
  CHECK(join_ids(loaded.serves) == "metric:fixture_good");
  CHECK(loaded.sha1.size() == 40);
}

TEST_CASE("an earlier directory shadows a later one, and the scan says so") {
  PluginHost host(fixture_inputs({"shadowing", "good"}));
  REQUIRE(host.scan().files.size() == 2);
  CHECK(host.scan().files[0].state == PluginState::kFound);
  CHECK(host.scan().files[1].state == PluginState::kShadowed);
  REQUIRE(host.scan().shadowed.size() == 1);
  CHECK(host.scan().shadowed[0].winner == fixture_file("shadowing"));
  CHECK(host.scan().shadowed[0].loser == fixture_file("good"));
  Registries registries;
  host.install(registries);
  registries.get<Metric>("fixture_good");
  CHECK(host.loaded().front().facts.version == "9.9.9");
}

TEST_CASE("a plugin of which one name is shadowed serves only its other name") {
  PluginHost host(fixture_inputs({"good", "two_names"}));
  Registries registries;
  host.install(registries);
  registries.get<Metric>("fixture_more");
  CHECK(join_ids(host.loaded().front().serves) == "metric:fixture_more");
  registries.get<Metric>("fixture_good");
  CHECK(host.loaded().back().path == fixture_file("good"));
}

TEST_CASE(
    "an unknown name is reported with its path, a suggestion, known names and searched folders") {
  const Error error = error_of_asking({"good", "two_names"}, "fixture_mor");
  CHECK(error.id() == "plugin/unknown");
  CHECK(error.exit_code() == ExitCode::kPlugin);
  CHECK(error.message() ==
        "no metric named 'fixture_mor' (x.yaml:3:9, eval.metric.name)\n"
        "  did you mean 'fixture_more'?\n"
        "  available: fixture_good, fixture_more\n"
        "  searched:  " +
            fixture_dir("good") + ", " + fixture_dir("two_names") +
            ", /nowhere/lib/s2s/plugins (does not exist)\n"
            "  see:       s2s-run plugin list --kind metric");
}

TEST_CASE("a name of another kind is pointed out") {
  PluginHost host(fixture_inputs({"good"}));
  Registries registries;
  host.install(registries);
  const Error error = error_of([&] { registries.get<Codec>("fixture_good"); });
  CHECK(contains(error.message(), "this name exists for kind metric"));
}

TEST_CASE("two providers of one name in one directory are an error that names both files") {
  const Error error = error_of_asking({"duplicate"}, "fixture_good");
  CHECK(error.id() == "plugin/duplicate");
  CHECK(contains(error.message(), "metric 'fixture_good' is provided twice in " +
                                      fixture_dir("duplicate") +
                                      ": libs2s_metric_fixture_duplicate.so, "
                                      "libs2s_metric_fixture_duplicate_too.so"));
}

TEST_CASE("a plugin of another ABI is refused with every difference and how to rebuild it") {
  const Error error = error_of_asking({"wrong_abi"}, "fixture_wrong");
  CHECK(error.id() == "plugin/abi");
  for (const char* part :
       {"api        999", "torch      1.13.0", S2S_TORCH_VERSION_TEXT, "c++        libstdc++",
        "cxx11abi=0", S2S_CXX_ABI_TEXT, "cmake -B build -DCMAKE_PREFIX_PATH="}) {
    CHECK_MESSAGE(contains(error.message(), part), part);
  }
  CHECK(error_of_asking({"wrong_api"}, "fixture_wrong").id() == "plugin/abi");
  CHECK(error_of_asking({"wrong_torch"}, "fixture_wrong").id() == "plugin/abi");
}

TEST_CASE("a plugin of other public headers is refused, and both fingerprints are reported") {
  const Error error = error_of_asking({"other_headers"}, "fixture_wrong");
  CHECK(error.id() == "plugin/abi");
  for (const char* part : {"sdk=000000000000", "sdk=" S2S_SDK_FINGERPRINT,
                           "rebuild it against this SDK:  cmake -B build"}) {
    CHECK_MESSAGE(contains(error.message(), part), part);
  }
}

TEST_CASE("a plugin of other data headers is refused, and both fingerprints are reported") {
  const Error error = error_of_asking({"other_data_headers"}, "fixture_data");
  CHECK(error.id() == "plugin/abi");
  for (const char* part : {"data       headers=000000000000  headers=" S2S_DATA_FINGERPRINT,
                           "rebuild it against this SDK:  cmake -B build"}) {
    CHECK_MESSAGE(contains(error.message(), part), part);
  }
  CHECK(error_of_asking({"data_headers"}, "fixture_data").id() == "none");
}

TEST_CASE("an incompatible plugin of an earlier directory is not quietly passed over") {
  CHECK(error_of_asking({"wrong_api", "wrong_torch"}, "fixture_wrong").id() == "plugin/abi");
}

TEST_CASE("a language model is found by a model_type that one plugin reads") {
  PluginHost host(fixture_inputs({"reader", "reader_too"}));
  Registries registries;
  host.install(registries);
  CHECK(registries.get<Backbone>("type_of_fixture_reader_too").summary == "reads folders");
  CHECK(registries.of<Backbone>().find("fixture_reader_too") != nullptr);
  CHECK(registries.of<Backbone>().find("fixture_reader") == nullptr);
  REQUIRE(host.loaded().size() == 1);
  CHECK(s2s::join_ids(host.loaded()[0].serves) == "llm:fixture_reader_too");

  const Error error = error_of([&] { registries.get<Backbone>("fixture_shared"); });
  CHECK(error.id() == "plugin/model-type");
  CHECK(contains(error.message(), "several language models read the model_type 'fixture_shared'"));
  CHECK(contains(error.message(), "found:     fixture_reader, fixture_reader_too"));
}

TEST_CASE("a plugin without a language model has no model_type to read") {
  const PluginFile file = read_plugin_file(fixture_file("reads_for_nobody"));
  REQUIRE(file.problem.has_value());
  CHECK(contains(file.problem->message(),
                 "provides 'model_type:fixture_own', which needs exactly one llm:NAME beside it"));
}

TEST_CASE("a plugin whose note is not filled is refused") {
  CHECK(error_of_asking({"empty_fields"}, "fixture_wrong").id() == "plugin/unknown");
  const PluginFile file = read_plugin_file(fixture_file("empty_fields"));
  REQUIRE(file.problem.has_value());
  CHECK(file.problem->id() == "plugin/fields");
  CHECK(contains(file.problem->message(), "version is empty; "));
}

TEST_CASE("a missing symbol is named in words, before anything of the plugin runs") {
  const Error error = error_of_asking({"missing_symbol"}, "fixture_missing_symbol");
  CHECK(error.id() == "plugin/symbols");
  CHECK(contains(error.message(), "fixture::removed_in_the_next_release(long)"));
}

TEST_CASE("a library that a plugin needs and that is nowhere is named") {
  const Error error = error_of_asking({"missing_library"}, "fixture_missing_library");
  CHECK(error.id() == "plugin/load");
  CHECK(contains(error.message(), "libs2s_fixture_needed.so"));
}

TEST_CASE("a plugin without a registration function is refused") {
  CHECK(error_of_asking({"no_entry"}, "fixture_no_entry").id() == "plugin/entry");
}

TEST_CASE("an exception while registering is reported with its file and function") {
  const Error error = error_of_asking({"throws"}, "fixture_throws");
  CHECK(error.id() == "plugin/threw");
  CHECK(contains(error.message(), "the table of numbers is empty"));
  CHECK(contains(error.message(), fixture_file("throws")));
  CHECK(contains(error.message(), "s2s_plugin_register"));
}

TEST_CASE("what is registered must be what is declared") {
  const Error absent = error_of_asking({"not_registered"}, "fixture_here");
  CHECK(absent.id() == "plugin/provides");
  CHECK(contains(absent.message(), "declares metric:fixture_absent but does not register it"));
  const Error secret = error_of_asking({"not_declared"}, "fixture_here");
  CHECK(secret.id() == "plugin/provides");
  CHECK(contains(secret.message(), "registers metric:fixture_secret without declaring it"));
}

TEST_CASE("a plugin that fails leaves nothing in the registries") {
  PluginHost host(fixture_inputs({"not_declared", "throws"}));
  Registries registries;
  host.install(registries);
  error_of([&] { registries.get<Metric>("fixture_here"); });
  error_of([&] { registries.get<Metric>("fixture_throws"); });
  CHECK(registered_ids(registries).empty());
  CHECK(host.loaded().empty());
}

TEST_CASE("a name that is registered already is not replaced, and nothing is added") {
  PluginHost host(fixture_inputs({"two_names"}));
  Registries registries;
  add_metric(registries, "fixture_good");
  host.install(registries);
  const Error error = error_of([&] { registries.get<Metric>("fixture_more"); });
  CHECK(error.id() == "plugin/duplicate-name");
  CHECK(registries.of<Metric>().find("fixture_more") == nullptr);
}

TEST_CASE("a registry refuses a second component of one name") {
  Registries registries;
  add_metric(registries, "twice");
  const Error error = error_of([&] { add_metric(registries, "twice"); });
  CHECK(error.id() == "plugin/duplicate-name");
}

TEST_CASE("files of plugins.load are loaded at once, and one that fails stops there") {
  SearchInputs inputs = fixture_inputs({"shadowing"});
  inputs.config.load = {fixture_file("good")};
  PluginHost host(inputs);
  Registries registries;
  host.install(registries);
  REQUIRE(host.loaded().size() == 1);
  CHECK(host.loaded().front().path == fixture_file("good"));
  for (const auto& [fixture, id] :
       std::vector<std::pair<std::string, std::string>>{{"throws", "plugin/threw"},
                                                        {"not_elf", "plugin/not-elf"},
                                                        {"wrong_api", "plugin/abi"}}) {
    inputs.config.load = {fixture_file(fixture)};
    PluginHost failing(inputs);
    Registries empty;
    CHECK(error_of([&] { failing.install(empty); }).id() == id);
  }
}

TEST_CASE("a component's node without a name is a config error") {
  const Registries registries;
  const Error error = error_of([&] { registries.create<Metric>(Config::map(), context_at("m")); });
  CHECK(error.id() == "config/missing");
  CHECK(contains(error.message(), "m.name"));
}

TEST_CASE("links to one file in one directory are one plugin") {
  const TemporaryFolder scratch;
  std::filesystem::create_symlink(fixture_file("good"), scratch / "liba.so");
  std::filesystem::create_symlink(fixture_file("good"), scratch / "libb.so");
  SearchInputs inputs = fixture_inputs({});
  inputs.command_line = {scratch.path().string()};
  const PluginHost host(inputs);
  CHECK(host.scan().files.size() == 1);
  CHECK(host.scan().duplicates.empty());
}
