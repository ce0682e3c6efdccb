#include "nn/model_size.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>

#include "s2s/error.h"

namespace s2s {
namespace {

constexpr int64_t kMostOfParameter = int64_t{1} << 42;
constexpr int64_t kMostElements = int64_t{1} << 50;
constexpr int64_t kMostParts = 1'000'000;

std::atomic<int64_t> model_elements = 0, model_parts = 0;

Error too_large(const std::string& what, const std::string& limit) {
  return config_error("model/size", what + "; expected at most " + limit +
                                        "; correct the sizes of the model in the configuration "
                                        "(layers, widths, experts, codebooks)");
}

/// The elements of a parameter, or more than any may have. Buffers have no sizes.
int64_t count_limited(const std::vector<int64_t>& sizes) {
  if (sizes.empty()) return 0;
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || (size > 0 && count > kMostOfParameter / size)) return kMostOfParameter + 1;
    count *= size;
  }
  return count;
}

}  // namespace

void join_model_part(const std::string& name) {
  if (model_parts.load(std::memory_order_relaxed) >= kMostParts) {
    throw too_large(
        fmt::format("the model has more than {} blocks, parameters and buffers, the next is '{}'",
                    kMostParts, name),
        fmt::format("{}", kMostParts));
  }
  model_parts.fetch_add(1, std::memory_order_relaxed);
}

void join_model_size(const std::string& name, const std::vector<int64_t>& sizes) {
  const int64_t count = count_limited(sizes);
  if (count > kMostOfParameter) {
    throw too_large(fmt::format("the parameter '{}' would be [{}]", name, fmt::join(sizes, ", ")),
                    fmt::format("{} elements", kMostOfParameter));
  }
  if (model_elements.load(std::memory_order_relaxed) + count > kMostElements) {
    throw too_large(
        fmt::format("with the parameter '{}' of [{}], the model has more than {} elements", name,
                    fmt::join(sizes, ", "), kMostElements),
        "that");
  }
  join_model_part(name);
  model_elements.fetch_add(count, std::memory_order_relaxed);
}

void leave_model_size(const std::vector<int64_t>& sizes) {
  model_elements.fetch_sub(count_limited(sizes), std::memory_order_relaxed);
}

void leave_model_parts(size_t count) {
  model_parts.fetch_sub(static_cast<int64_t>(count), std::memory_order_relaxed);
}

}  // namespace s2s
