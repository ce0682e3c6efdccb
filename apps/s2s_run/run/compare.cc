#include "s2s_run/run/compare.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "compare/compare.h"
#include "plugin/plugin_host.h"

namespace s2s::run {
namespace {

struct Arguments {
  std::string reference;
  std::string dtype = "float32";
  std::string device = "cpu";
};

int compare(const Arguments& arguments, const Invocation& invocation) {
  CompareSettings settings;
  settings.dtype = parse_dtype(arguments.dtype);
  settings.device = parse_device(arguments.device);
  const ReferenceFile reference = read_reference(arguments.reference);
  Registries registries;
  PluginHost host(process_search_inputs(invocation.plugin_paths));
  host.install(registries);
  const auto rows = compare_reference({reference, settings, registries});
  const std::string text =
      invocation.json ? differences_json(reference, rows) : format_differences(reference, rows);
  std::fputs(text.c_str(), stdout);
  const bool all_pass = !rows.empty() && std::all_of(rows.begin(), rows.end(),
                                                     [](const auto& row) { return row.pass; });
  return static_cast<int>(all_pass ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace

void setup_compare(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand(
      "compare", "run a component on a reference file and compare tensor by tensor");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("reference", arguments->reference, "a reference file (.safetensors)")
      ->required();
  command->add_option("--dtype", arguments->dtype,
                      "float32, float64, bfloat16 or float16 (half types widen the tolerance)");
  command->add_option("--device", arguments->device, "cpu, cuda or cuda:N");
  command->add_flag("--json", invocation.json, "machine-readable");
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] { return compare(*arguments, invocation); };
  });
}

}  // namespace s2s::run
