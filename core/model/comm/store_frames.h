#pragma once
// The protocol between the processes of a run and their store: a hello with the run's token, then
// requests and answers. Each of them is a length followed by fields.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// The command of a request, or the result of an answer.
enum class StoreVerb : char {
  kSet = 's',     // key, value
  kGet = 'g',     // key -> yes, value | no
  kAdd = 'a',     // key, number -> yes, sum
  kSwap = 'x',    // key, expected, wanted -> yes, value
  kCheck = 'c',   // keys -> yes | no
  kDelete = 'd',  // key -> yes | no
  kCount = 'n',   // -> yes, number of keys
  kAppend = 'p',  // key, value
  kWait = 'w',    // milliseconds, keys -> yes | no
  kYes = 'Y',
  kNo = 'N',
};

struct StoreFrame {
  StoreVerb verb = StoreVerb::kNo;
  std::vector<std::string> fields;
};

inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;
/// The server's reply to a hello with the right token. Other clients get no reply.
inline constexpr char kWelcome = 'w';

std::string to_bytes(const StoreFrame& frame);
/// Returns the first bytes that a client sends.
std::string hello_of(std::string_view token);

/// Returns the size of the first complete frame in `bytes`, or 0 when more bytes are needed.
/// Returns nothing when the bytes are not a valid frame.
std::optional<size_t> frame_length(std::string_view bytes);
/// Parses a complete frame. Returns nothing when its fields do not match its size.
std::optional<StoreFrame> to_frame(std::string_view bytes);

}  // namespace s2s
