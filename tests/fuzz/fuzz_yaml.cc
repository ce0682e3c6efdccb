// Any bytes as a configuration: refused with a message, or a tree whose text is read and written
// again as the same, and whose interpolations can be resolved.

#include <cstddef>
#include <cstdint>
#include <string>

#include "config/load_config.h"
#include "config/yaml_reader.h"
#include "config/yaml_writer.h"
#include "s2s/config.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    s2s::Config config = s2s::parse_yaml(text, "fuzz.yaml");
    const std::string written = s2s::write_yaml(config);  // what is no UTF-8 is replaced here
    if (s2s::write_yaml(s2s::parse_yaml(written, "again.yaml")) != written) __builtin_trap();
    s2s::resolve_interpolations(config);
    s2s::effective_text(config);
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
