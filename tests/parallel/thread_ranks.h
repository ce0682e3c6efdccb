#pragma once
// Ranks that are threads, joined by the plugin `local`.

#include <functional>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "../plugins/built_plugins.h"
#include "s2s/kinds/communicator.h"

namespace s2s::test {

/// Runs `body` as `size` ranks; returns what each threw, "" for nothing.
inline std::vector<std::string> run_thread_ranks(
    int64_t size, const std::function<void(Communicator& world)>& body,
    std::chrono::milliseconds timeout = std::chrono::minutes(5)) {
  static BuiltPlugins plugins;  // never unloaded anyway
  const auto& component = plugins.registries().get<Communicator>("local");
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::string> thrown(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const ProcessPlace process = {rank, size, rank, size, store.get(), timeout};
      ProcessContext context;
      context.process = &process;
      try {
        const auto world = component.create(Config::map(), context);
        body(*world);
      } catch (const std::exception& error) {
        thrown[static_cast<size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

}  // namespace s2s::test
