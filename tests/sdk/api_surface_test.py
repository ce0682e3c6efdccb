"""usage: api_surface_test.py SOURCE_DIR [--update]

The headers that plugins see are a promise, and layouts in them are compiled into every plugin.
Their hash stands in core/include/s2s/sdk_fingerprint.h, from where it gets into each plugin's note
and into the host, which loads no plugin of other headers. Comments and white space do not count.

After a change of a header run this with --update. When plugins have to be written anew, or mean
something else, also raise S2S_PLUGIN_API in core/include/s2s/plugin.h and write a decision record.
"""

import hashlib
import pathlib
import re
import sys

STRINGS_AND_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

HEADER = """#pragma once
// Written by tests/sdk/api_surface_test.py --update: a hash of the other headers of this folder.

/// Which headers a plugin, or the host, was compiled with; a part of the note's C++ ABI text.
#define S2S_SDK_FINGERPRINT "%s"
"""


def surface(text):
    """The text without comments and with single blanks."""
    code = STRINGS_AND_COMMENTS.sub(lambda m: m.group() if m.group()[0] == '"' else " ", text)
    return " ".join(code.split())


def main():
    folder = pathlib.Path(sys.argv[1]) / "core/include/s2s"
    record = folder / "sdk_fingerprint.h"
    headers = sorted(path for path in folder.rglob("*.h") if path != record)
    if len(headers) < 20:
        print("hardly any headers found: the check itself is broken")
        return 1
    digest = hashlib.sha256()
    for path in headers:
        digest.update(f"{path.relative_to(folder)}\n{surface(path.read_text())}\n".encode())
    now = HEADER % digest.hexdigest()[:12]
    recorded = record.read_text() if record.exists() else ""
    if "--update" in sys.argv[2:] and recorded != now:
        record.write_text(now)
        recorded = now
    if recorded == now:
        print(f"ok: {len(headers)} headers as recorded")
        return 0
    print(f"core/include/s2s changed, and {record.name} did not:" +
          __doc__[__doc__.index("\nAfter"):])
    return 1


sys.exit(main())
