#include "sources.h"

#include "s2s/error.h"

namespace s2s::cuda {

std::string kernel_text(std::string_view name) {
  constexpr std::string_view kInclude = "#include \"elements.cuh\"\n";
  std::string text(cuda_source(name));
  const size_t at = text.find(kInclude);
  S2S_ASSERT(at != std::string::npos, "every kernel reads and writes elements");
  return text.replace(at, kInclude.size(), cuda_source("elements.cuh"));
}

}  // namespace s2s::cuda
