#include "streams/stream_errors.h"

#include <fmt/format.h>

namespace s2s::data::stream_errors {
namespace {

Error error(const char* id, std::string message) {
  return Error(ExitCode::kData, id, std::move(message));
}

}  // namespace

Error damaged_state(const std::string& reason) {
  return error("data/position",
               fmt::format("the saved position of the data cannot be used: {}; expected one that "
                           "this pipeline saved; resume from another checkpoint, or start the "
                           "data from the beginning",
                           reason));
}

Error weights(const std::string& found) {
  return error("data/weights",
               fmt::format("the weights of mixed sources are wrong: {}; expected one number for "
                           "each source, none below 0 and at least one above 0",
                           found));
}

Error empty_draw(const std::string& what) {
  return error("data/empty-draw",
               fmt::format("there is nothing to draw from: {}; expected at least "
                           "one choice with a weight above 0",
                           what));
}

}  // namespace s2s::data::stream_errors
