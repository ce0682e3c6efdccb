// s2s-run compare: compares the output of a component with that of another implementation.

#include "compare/compare.h"

#include <algorithm>
#include <cstdio>

#include "plugin/plugin_host.h"
#include "run/numerics.h"
#include "s2s_run/subcommands.h"

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
  set_numerics({});
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

void setup_compare(const Command& program) {
  const Command command = program.command(
      "compare", "run a component on a reference file and compare its output tensor by tensor");
  Arguments& arguments = command.runs(compare);
  command.option("reference", arguments.reference, "reference file (.safetensors)").required();
  command.option("--dtype", arguments.dtype,
                 "float32, float64, bfloat16 or float16 (16-bit dtypes widen the tolerance)");
  command.option("--device", arguments.device, "cpu, gpu, cuda or cuda:N");
  command.json("print JSON");
}

}  // namespace s2s::run
