"""usage: api_surface_test.py SOURCE_DIR [--update]

The headers that plugins see are a promise. This keeps their hash beside the API number: a change of
a header that does not come with a decision fails here. Comments and white space do not count.

After a change: raise S2S_PLUGIN_API in core/include/s2s/plugin.h when plugins have to be built anew
or mean something else, write a decision record, and run this with --update.
"""

import hashlib
import pathlib
import re
import sys

STRINGS_AND_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def surface(text):
    """The text without comments and with single blanks."""
    code = STRINGS_AND_COMMENTS.sub(lambda m: m.group() if m.group()[0] == '"' else " ", text)
    return " ".join(code.split())


def main():
    root = pathlib.Path(sys.argv[1])
    headers = sorted((root / "core/include/s2s").rglob("*.h"))
    if len(headers) < 20:
        print("hardly any headers found: the check itself is broken")
        return 1
    digest = hashlib.sha256()
    for path in headers:
        digest.update(f"{path.name}\n{surface(path.read_text())}\n".encode())
    number = re.search(r"#define S2S_PLUGIN_API (\d+)",
                       (root / "core/include/s2s/plugin.h").read_text()).group(1)
    now = f"{number} {digest.hexdigest()}\n"
    record = root / "tests/sdk/api_surface.txt"
    if "--update" in sys.argv[2:]:
        record.write_text(now)
    if record.read_text() == now:
        print(f"ok: {len(headers)} headers as recorded for API {number}")
        return 0
    print(f"core/include/s2s changed:\n  recorded {record.read_text()}  now      {now}" +
          __doc__[__doc__.index("\nAfter"):])
    return 1


sys.exit(main())
