#pragma once
// How the processes of a run speak with their store: a hello with the run's token, then requests
// and answers, each a length and fields.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// A request: what to do, and its arguments. An answer: whether, and what.
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

/// Longest frame that is read.
inline constexpr size_t kMaxFrameBytes = size_t{64} << 20;
/// What the server says to a hello that has the right token. Others hear nothing.
inline constexpr char kWelcome = 'w';

std::string to_bytes(const StoreFrame& frame);
/// What a client says first.
std::string hello_of(std::string_view token);

/// Bytes at the begin of `bytes` that are one whole frame; 0 when more have to come. Nothing when
/// they cannot become a frame.
std::optional<size_t> frame_length(std::string_view bytes);
/// A whole frame. Nothing when its fields do not fill it.
std::optional<StoreFrame> to_frame(std::string_view bytes);

}  // namespace s2s
