#include "base/machine.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

TEST_CASE("the machine says what memory it has") {
  const s2s::MachineMemory memory = s2s::machine_memory();
  CHECK(memory.total > 1e8);
  CHECK(memory.available > 0);
  CHECK(memory.available <= memory.total);
  CHECK(s2s::memory_text(memory).find(" GB are free") != std::string::npos);
}

TEST_CASE("a limit is reported beside what the machine has") {
  s2s::MachineMemory memory;
  CHECK(s2s::memory_text(memory) == "");
  memory.total = 25.3e9;
  memory.available = 3.1e9;
  CHECK(s2s::memory_text(memory) == "3.1 of the machine's 25.3 GB are free");
  memory.limit = 8e9;
  memory.limit_name = "ulimit -v";
  CHECK(s2s::memory_text(memory) ==
        "3.1 of the machine's 25.3 GB are free, and ulimit -v allows this process 8.0 GB");
}

TEST_CASE("LibTorch's messages say what was asked for") {
  CHECK(s2s::asked_bytes("DefaultCPUAllocator: can't allocate memory: you tried to allocate "
                         "68719476736 bytes. Error code 12") == 68719476736.0);
  CHECK(s2s::asked_bytes("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total "
                         "capacity of 139.81 GiB of which 1.00 GiB is free.") == 2684354560.0);
  CHECK(s2s::asked_bytes("std::bad_alloc") == 0);
  CHECK(s2s::gigabytes_text(2684354560.0) == "2.7 GB");
  CHECK(s2s::gigabytes_text(4096) == "0.0 MB");
}

TEST_CASE("prints its peak memory" * doctest::skip()) {
  std::printf("peak %lld\n", static_cast<long long>(s2s::peak_memory_bytes()));
}

TEST_CASE("the peak memory of a program is its own, not that of the one that started it") {
  constexpr size_t kLarge = size_t{512} << 20;
  std::vector<char> large(kLarge, 1);
  CHECK(s2s::peak_memory_bytes() > static_cast<int64_t>(kLarge));
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = self + " -ns --test-case='prints its peak memory'";
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  long long peak = 0;
  std::array<char, 256> line{};
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    if (std::sscanf(line.data(), "peak %lld", &peak) == 1) break;
  }
  pclose(pipe);
  CHECK(peak > 0);
  CHECK(peak < static_cast<long long>(kLarge));
}
