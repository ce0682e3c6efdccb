"""usage: function_size_test.py SOURCE_DIR

Finds functions of more than 60 lines. It reads text, not C++: comments and strings are blanked,
then every brace that follows a parameter list outside a function opens one. clang-tidy's
readability-function-size (.clang-tidy) is the exact check; this one costs no second.
"""

import pathlib
import re
import sys

LIMIT = 60
TOKENS = re.compile(
    r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r'|//[^\n]*|/\*.*?\*/',
    re.DOTALL,
)
# What may stand between the parameters and the body.
HEAD = re.compile(r"\)\s*(const|noexcept|override|final|mutable|&|->\s*[\w:<>,&*\s]+"
                  r"|:[^;{}]*[)}])*\s*$", re.DOTALL)
CONTROL = re.compile(r"\b(if|for|while|switch|catch)\b[^;{}]*$", re.DOTALL)


def blank(text):
    """The text without comments and strings; lines keep their numbers."""
    return TOKENS.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def functions(text):
    """Yields (first line, number of lines) of each outermost function body."""
    code = blank(text)
    depth_of_function, depth, start, last = None, 0, 0, 0
    for position, char in enumerate(code):
        if char == "{":
            head = code[last:position]
            opens = depth_of_function is None and HEAD.search(head) and not CONTROL.search(head)
            if opens:
                depth_of_function, start = depth, position
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == depth_of_function:
                first = code.count("\n", 0, start) + 1
                yield first, code.count("\n", start, position) + 1
                depth_of_function = None
        if char in ";{}" and depth_of_function is None:
            last = position + 1


def main():
    root = pathlib.Path(sys.argv[1])
    findings, count = [], 0
    for folder in ("core", "plugins", "apps", "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            for line, size in functions(path.read_text(errors="replace")):
                count += 1
                if size > LIMIT:
                    findings.append(f"{path.relative_to(root)}:{line}: {size} lines")
    print("\n".join(findings) or f"ok: {count} functions of at most {LIMIT} lines")
    if count == 0:
        print("no functions found: the check itself is broken")
    return 1 if findings or count == 0 else 0


sys.exit(main())
