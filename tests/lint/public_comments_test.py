"""usage: public_comments_test.py SOURCE_DIR

Each function and each type of core/include/s2s has a comment: directly above it, behind one of its
lines, or above the group (lines without a blank line between them) that it stands in.

Excepted: constructors, destructors, operators, overrides, forward declarations, what is deleted or
private, definitions on one line (accessors), `visit(OptionVisitor&)` (s2s/options.h says what it is
for), and a type that is the only one of its header, whose first lines speak of it.

It reads text, in the shapes that clang-format writes.
"""

import pathlib
import re
import sys

TYPE = re.compile(r"^\s*(?:class|struct|enum(?: class)?|concept)\s+(?:\[\[\w+\]\]\s*)?(\w+)")
FUNCTION = re.compile(r"^\s*(?:[\w:<>,*&\[\] ]+[ *&>])(\w+)\((?!\*)")
EXCEPTED = re.compile(r"\boverride\b|\boperator\b|~|= delete|= default|^\s*(?:return|using|friend|"
                      r"typedef|static_assert|S2S_|throw|explicit)\b|\bvisit\(OptionVisitor&")


def statement(lines, start):
    """The lines of the declaration that begins at `start`, up to its `;` or `{`."""
    for end in range(start, min(start + 12, len(lines))):
        code = lines[end].split("//")[0].rstrip()
        if code.endswith((";", "{", "}")):
            return lines[start:end + 1]
    return lines[start:start + 1]


def has_comment(lines, start, size):
    """Above it or its group, or behind one of its lines."""
    if any("//" in line for line in lines[start:start + size]):
        return True
    above = start - 1
    while above >= 0 and lines[above].strip():
        text = lines[above].strip()
        if text.startswith("//"):
            return True
        if text.endswith(("{", ":")) and not text.startswith("template"):
            return False  # the beginning of what it is a member of
        above -= 1
    return False


def findings(path):
    lines = path.read_text().splitlines()
    num_types = sum(1 for line in lines if (m := TYPE.match(line)) and not line.endswith(";"))
    private_at = []  # indents of the types whose private part is read
    size = 0
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if re.match(r"^\s*private:", line):
            private_at.append(indent)
        while private_at and re.match(r"^\s*\};", line) and indent <= private_at[-1]:
            private_at.pop()
        if re.match(r"^\s*(public|protected):", line) and private_at:
            private_at.pop()
        if private_at or i < size or not line.strip() or line.strip().startswith("//"):
            continue
        if re.match(r"^\s*(?:#|.*\\$)", line):
            continue
        whole = statement(lines, i)
        text = " ".join(whole)
        name = None
        if (found := TYPE.match(line)) and not text.rstrip().endswith(";"):
            name = None if num_types == 1 else found.group(1)
        elif (found := FUNCTION.match(line)) and not EXCEPTED.search(text.split("//")[0]):
            is_one_line = len(whole) == 1 and line.rstrip().endswith("}")
            is_constructor = found.group(1)[0].isupper()
            name = None if is_one_line or is_constructor else found.group(1)
        if name and not has_comment(lines, i, len(whole)):
            yield i + 1, name
        if found and not TYPE.match(line):
            size = i + len(whole)
            if text.rstrip().endswith("{"):  # its body
                while lines[size] != " " * indent + "}":
                    size += 1


def main():
    root = pathlib.Path(sys.argv[1])
    headers = sorted((root / "core/include/s2s").rglob("*.h"))
    if len(headers) < 20:
        print("hardly any headers found: the check itself is broken")
        return 1
    bad = [(path.relative_to(root), line, name) for path in headers
           for line, name in findings(path)]
    for path, line, name in bad:
        print(f"{path}:{line}: {name} has no comment: say what it is or returns, shapes, units, "
              "errors")
    if not bad:
        print(f"ok: public comments of {len(headers)} headers")
    return 1 if bad else 0


sys.exit(main())
