"""usage: api_surface_test.py SOURCE_DIR [--update]

The headers that plugins see are a promise, and layouts in them are compiled into every plugin.
Their hash stands in core/include/s2s/sdk_fingerprint.h, from where it gets into each plugin's note
and into the host, which loads no plugin of other headers. The headers of core/include/s2s/data have
a hash of their own in s2s/data/fingerprint.h, which each of them includes, and which gets into a
section of those plugins that include one of them. Comments and white space do not count.

After a change of a header run this with --update. When plugins have to be written anew, or mean
something else, also raise S2S_PLUGIN_API in core/include/s2s/plugin.h and write a decision record.
"""

import hashlib
import pathlib
import re
import sys

STRINGS_AND_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

SDK_HEADER = """#pragma once
// Written by tests/sdk/api_surface_test.py --update: a hash of the other headers of this folder,
// without s2s/data.

/// Which headers a plugin, or the host, was compiled with; a part of the note's C++ ABI text.
#define S2S_SDK_FINGERPRINT "%s"
"""

DATA_HEADER = """#pragma once
// Written by tests/sdk/api_surface_test.py --update: a hash of the other headers of this folder.

/// Which data headers a plugin, or the host, was compiled with.
#define S2S_DATA_FINGERPRINT "%s"

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
"""

DATA_INCLUDE = '#include "s2s/data/fingerprint.h"'


def surface(text):
    """The text without comments and with single blanks."""
    code = STRINGS_AND_COMMENTS.sub(lambda m: m.group() if m.group()[0] == '"' else " ", text)
    return " ".join(code.split())


def digest_of(headers, folder):
    digest = hashlib.sha256()
    for path in headers:
        digest.update(f"{path.relative_to(folder)}\n{surface(path.read_text())}\n".encode())
    return digest.hexdigest()[:12]


def is_recorded(record, now):
    """Whether the record says `now`; with --update it does."""
    recorded = record.read_text() if record.exists() else ""
    if "--update" in sys.argv[2:] and recorded != now:
        record.write_text(now)
        recorded = now
    return recorded == now


def main():
    folder = pathlib.Path(sys.argv[1]) / "core/include/s2s"
    sdk_record, data_record = folder / "sdk_fingerprint.h", folder / "data/fingerprint.h"
    headers = sorted(folder.rglob("*.h"))
    data = [path for path in headers if path.parent == data_record.parent and path != data_record]
    sdk = [path for path in headers if path not in data and path not in (sdk_record, data_record)]
    if len(sdk) < 20 or len(data) < 5:
        print("hardly any headers found: the check itself is broken")
        return 1
    lacking = [path.name for path in data if DATA_INCLUDE not in path.read_text().splitlines()]
    if lacking:
        print(f"headers of core/include/s2s/data without {DATA_INCLUDE}: {', '.join(lacking)}")
        return 1
    stale = [record.name for record, now in (
        (sdk_record, SDK_HEADER % digest_of(sdk, folder)),
        (data_record, DATA_HEADER % digest_of(data, folder))) if not is_recorded(record, now)]
    if not stale:
        print(f"ok: {len(sdk)} headers and {len(data)} of data as recorded")
        return 0
    print(f"core/include/s2s changed, and {' and '.join(stale)} did not:" +
          __doc__[__doc__.index("\nAfter"):])
    return 1


sys.exit(main())
