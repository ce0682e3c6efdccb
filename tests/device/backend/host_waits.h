#pragma once
// How often the host waited for the test device, by what it waited in.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace s2s::test_device {

void count_wait(std::string_view what);
void count_operator();

/// When the process ends, the counts are written to the file that S2S_TEST_DEVICE_REPORT names.
void report_at_exit();

}  // namespace s2s::test_device

extern "C" {
/// For tests, which open the library at run time.
__attribute__((visibility("default"))) int64_t s2s_test_device_host_waits();
}
