"""usage: docs_test.py SOURCE_DIR

Links between Markdown files lead to a file and a heading that exist, every page below core/docs is
listed in core/docs/README.md, and pages that sources name are there. Lines of text have at most 100
columns; tables, code and a word that is longer are exempt.
"""

import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s]*)\)")
MENTION = re.compile(r"core/docs/[\w/]+\.md")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SOURCES = {".cc", ".h", ".py", ".sh", ".cmake", ".txt", ".yaml", ".md"}
LIST_MARK = re.compile(r"\s*([-*+]|\d+\.) ")
COLUMNS = 100
PARTS = ("apps", "configs", "core", "plugins", "tests")


def anchors_of(text):
    """GitHub's anchors: lower case, punctuation gone, spaces to dashes."""
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", CODE.sub("", text), re.MULTILINE):
        heading = re.sub(r"[^\w\- ]", "", heading.lower())
        anchors.add(heading.replace(" ", "-"))
    return anchors


def broken_links(root, page):
    text = page.read_text()
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{page.relative_to(root)}: ({target}) leads nowhere"
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text()):
            yield f"{page.relative_to(root)}: ({target}): {name or 'it'} has no such heading"


def long_lines(root, page):
    """Lines of text that do not fit; a block of four blanks after an empty line is code."""
    is_fenced = is_indented = False
    before = ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        is_fence = line.lstrip().startswith("```")
        is_fenced ^= is_fence
        if not line.strip():
            is_indented = False
        elif line.startswith("    ") and not before.strip():
            is_indented = True
        before = line
        is_text = not (is_fence or is_fenced or is_indented or line.lstrip().startswith("|"))
        if is_text and len(line) > COLUMNS and " " in LIST_MARK.sub("", line, count=1).strip():
            yield f"{page.relative_to(root)}:{number}: more than {COLUMNS} columns: wrap it"


def source_files(root):
    yield from (path for path in root.iterdir() if path.suffix in SOURCES)
    for part in PARTS:
        for path in (root / part).rglob("*"):
            if path.suffix in SOURCES and path.is_file():
                yield path


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    docs = root / "core/docs"
    files = list(source_files(root))
    pages = [path for path in files if path.suffix == ".md"]
    findings = [one for page in pages for one in broken_links(root, page)]
    findings += [one for page in pages for one in long_lines(root, page)]
    listed = {(docs / target.partition("#")[0]).resolve()
              for target in LINK.findall((docs / "README.md").read_text())}
    findings += [f"{page.relative_to(root)} is not listed in core/docs/README.md"
                 for page in pages
                 if page.is_relative_to(docs) and page.name != "README.md"
                 and page not in listed and page.parent not in listed]
    for path in files:
        for name in MENTION.findall(path.read_text(errors="replace")):
            if not (root / name).exists():
                findings.append(f"{path.relative_to(root)} names {name}, which is not there")
    print("\n".join(findings) or f"ok: {len(pages)} pages")
    if len(pages) < 20:
        print("hardly any pages found: the check itself is broken")
        return 1
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
