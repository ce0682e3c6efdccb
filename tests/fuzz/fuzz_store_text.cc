// Any bytes as what a stranger sends to the store of a run: no frame, or one that is sent as the
// same; and as what is in the store for the ranks that wait for rank 0: refused with a message, or
// taken as what rank 0 said.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "comm/rank0.h"
#include "comm/store_frames.h"
#include "s2s/error.h"
#include "s2s/kinds/communicator.h"

namespace {

void check_frame(std::string_view bytes) {
  const std::optional<size_t> length = s2s::frame_length(bytes);
  if (!length || *length == 0) return;
  if (*length > bytes.size()) __builtin_trap();
  const std::string_view whole = bytes.substr(0, *length);
  const std::optional<s2s::StoreFrame> frame = s2s::to_frame(whole);
  if (frame && s2s::to_bytes(*frame) != whole) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check_frame({reinterpret_cast<const char*>(data), size});
  c10d::HashStore store;
  store.set("first/0", std::vector<uint8_t>(data, data + size));
  s2s::ProcessPlace place;
  place.rank = 1;
  place.size = 2;
  place.store = &store;
  place.timeout = std::chrono::milliseconds(100);
  try {
    s2s::Rank0(place).run("fuzz", [] { return std::string(); });
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
