#pragma once
// Written by tests/sdk/api_surface_test.py --update: a hash of the other headers of this folder.

/// Which headers a plugin, or the host, was compiled with; a part of the note's C++ ABI text.
#define S2S_SDK_FINGERPRINT "4a4f7a5a2fb9"
