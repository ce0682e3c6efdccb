// Any bytes as the YAML file that input_cfg names: what is wrong with it are findings.

#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/input_file.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "streams/input_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const s2s::test::InputFile input("input.yaml");
  const std::string path = input.write(data, size);
  s2s::Config block = s2s::Config::map();
  block["input_cfg"] = s2s::Config::scalar(path, true);
  s2s::data::InputContext context;
  context.path = "fuzz";
  context.base_dir = input.folder();
  context.seed = [](const s2s::Config&, const std::string&) { return int64_t{0}; };
  s2s::Findings findings;
  try {
    s2s::data::parse_input(block, context, findings);
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
