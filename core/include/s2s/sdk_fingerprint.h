#pragma once
// Written by tests/sdk/api_surface_test.py --update: a hash of the other headers of this folder,
// without s2s/data.

/// Which headers a plugin, or the host, was compiled with; a part of the note's C++ ABI text.
#define S2S_SDK_FINGERPRINT "ee7c98242ead"
