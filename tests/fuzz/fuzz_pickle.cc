// Any bytes as a pickle: an error of ours or a value, never anything else.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "s2s/error.h"
#include "weights/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const auto content : {s2s::PickleOf::kTensors, s2s::PickleOf::kDistributedMetadata}) {
    try {
      s2s::ReadingBudget budget("fuzz");
      const auto pickle =
          s2s::read_pickle(budget, {reinterpret_cast<const char*>(data), size}, content);
      s2s::find_item(*pickle.root, "state_dict");
    } catch (const s2s::Error&) {  // what a user would read
    }
  }
  return 0;
}
