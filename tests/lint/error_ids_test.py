"""usage: error_ids_test.py SOURCE_DIR

Every error id of the sources has a section in core/docs/reference/errors.md, and every section
has an id.
It reads text: ids are strings "area/name" where an Error is made or returned.
"""

import pathlib
import re
import sys

WHOLE = re.compile(r'(?:ExitCode::k\w+,|return \w+\()\s*"([a-z]+/[a-z0-9-]+)"')
# A warning writes it out.
WARNING = re.compile(r'"\[([a-z]+/[a-z0-9-]+)\] ')
# A file of one area writes the area once, and names after it.
AREA = re.compile(r'"([a-z]+)/"\)? \+')
NAME = re.compile(r'return (?:Error )?\w+\(\s*"([a-z][a-z0-9-]+)",')


def ids_of(root):
    """Each id with the file that makes it."""
    made = {}
    for folder in ("core/foundation", "core/data", "core/model", "core/training", "core/include",
                   "plugins", "apps"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            text = path.read_text()
            found = WHOLE.findall(text) + WARNING.findall(text)
            area = AREA.search(text)
            if area:
                found += [f"{area.group(1)}/{name}" for name in NAME.findall(text)]
            for error_id in found:
                made.setdefault(error_id, path.relative_to(root))
    return made


def main():
    root = pathlib.Path(sys.argv[1])
    page = "core/docs/reference/errors.md"
    headings = re.findall(r"^### (.+)$", (root / page).read_text(), re.MULTILINE)
    documented = {error_id for heading in headings for error_id in heading.split(", ")}
    made = ids_of(root)
    findings = [f"{path}: '{error_id}' is not in {page}"
                for error_id, path in sorted(made.items()) if error_id not in documented]
    findings += [f"{page}: nothing makes '{error_id}'"
                 for error_id in sorted(documented - made.keys())]
    print("\n".join(findings) or f"ok: {len(made)} error ids")
    if len(made) < 50:
        print("hardly any ids found: the check itself is broken")
        return 1
    return 1 if findings else 0


sys.exit(main())
