#pragma once
// Written by tests/sdk/api_surface_test.py --update: a hash of the other headers of this folder.

/// Which data headers a plugin, or the host, was compiled with.
#define S2S_DATA_FINGERPRINT "c6244fe7042e"

// A linker that removes unused sections keeps this one.
#if __has_attribute(retain)
#define S2S_DATA_SECTION __attribute__((used, retain, section(".s2s_data"), visibility("hidden")))
#else
#define S2S_DATA_SECTION __attribute__((used, section(".s2s_data"), visibility("hidden")))
#endif

namespace s2s {

/// Once in each binary that includes a data header; the host reads it from a plugin's file.
inline constexpr char kDataFingerprint[] S2S_DATA_SECTION = S2S_DATA_FINGERPRINT;

}  // namespace s2s
