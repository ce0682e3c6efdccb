"""usage: error_ids_test.py SOURCE_DIR

Every error id of the sources is one literal "area/name" (so that grep finds it), has a section in
core/docs/reference/errors.md, and is named by a test; every section has an id.
It reads text: ids are literals where an Error is made or returned, and "[area/name] " of warnings.
"""

import pathlib
import re
import sys

MADE = re.compile(r'(?:ExitCode::k\w+,|return (?:Error )?\w+\()\s*"([a-z]+/[a-z0-9-]+)"')
# A warning writes it out.
WARNING = re.compile(r'"\[([a-z]+/[a-z0-9-]+)\] ')
# Made of parts: grep for the id would not find it.
PARTS = re.compile(r'ExitCode::k\w+,\s*(?:std::string\()?"[a-z]+/"')

SOURCES = ("core/foundation", "core/data", "core/model", "core/interop",
           "core/training", "core/include", "plugins", "apps", "tests/benchmark/commands")
# No test names them yet. An entry goes when a test comes; none may be added for a new id.
UNTESTED = {
    # They need a GPU, or a broken machine.
    "comm/network", "comm/nccl-version", "install/library",
    "launch/port",
    "data/conversation", "data/extra-field", "data/nemo-manifest", "data/nemo-member",
    "data/segments", "lora/model", "plugin/promises", "reference/no-input",
    "reference/translate"}


def read_sources(root):
    """-> each id with the file that makes it, and findings."""
    made, findings = {}, []
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            text = path.read_text()
            if PARTS.search(text):
                findings.append(f"{path.relative_to(root)}: an id made of parts; write it out")
            for error_id in MADE.findall(text) + WARNING.findall(text):
                made.setdefault(error_id, path.relative_to(root))
    return made, findings


def named_in_tests(root):
    """The ids that a test's text has."""
    names = set()
    for path in (root / "tests").rglob("*"):
        relative = path.relative_to(root / "tests")
        if relative.parts[0] == "lint" or relative.parts[:2] in (
                ("reference", "data"), ("benchmark", "commands")):
            continue
        if path.suffix in (".cc", ".h", ".sh", ".py", ".json", ".yaml", ".txt"):
            names.update(re.findall(r"[a-z]+/[a-z0-9-]+", path.read_text(errors="replace")))
    return names


def main():
    root = pathlib.Path(sys.argv[1])
    page = "core/docs/reference/errors.md"
    headings = re.findall(r"^### (.+)$", (root / page).read_text(), re.MULTILINE)
    documented = {error_id for heading in headings for error_id in heading.split(", ")}
    made, findings = read_sources(root)
    tested = named_in_tests(root)
    findings += [f"{path}: '{error_id}' is not in {page}"
                 for error_id, path in sorted(made.items()) if error_id not in documented]
    findings += [f"{page}: nothing makes '{error_id}'"
                 for error_id in sorted(documented - made.keys())]
    findings += [f"{path}: no test names '{error_id}'" for error_id, path in sorted(made.items())
                 if error_id not in tested | UNTESTED]
    findings += [f"{error_id}: take it out of UNTESTED" for error_id in sorted(UNTESTED & tested)]
    print("\n".join(findings) or f"ok: {len(made)} error ids, {len(UNTESTED)} of them in no test")
    if len(made) < 50:
        print("hardly any ids found: the check itself is broken")
        return 1
    return 1 if findings else 0


sys.exit(main())
