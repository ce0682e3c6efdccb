"""usage: troubleshooting_test.py SOURCE_DIR [--update]

The tables of core/docs/troubleshooting.md below "## By error id" are made from
core/docs/reference/errors.md: a row for each id, with the cause and a command.

After a change of errors.md: python3 tests/lint/troubleshooting_test.py . --update
"""

import pathlib
import re
import sys

MARK = "## By error id\n"
COMMAND = re.compile(r"`(s2s-run [^`]+)`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def cause_of(text):
    """The first sentence of an entry, without links and its exit code."""
    text = LINK.sub(r"\1", text.strip().split("\n\n")[0].replace("\n", " "))
    text = re.sub(r"^\(\d\) ", "", text)
    sentence = re.match(r".*?\.(?= |$)", text)
    return (sentence.group() if sentence else text).replace("|", "\\|")


def row_of(ids, text, commands):
    command = (COMMAND.findall(text) or commands or [f"s2s-run explain {ids[0]}"])[0]
    anchor = re.sub(r"[^\w\- ]", "", ", ".join(ids)).replace(" ", "-")
    link = f"[{', '.join(ids)}](reference/errors.md#{anchor})"
    return f"| {link} | {cause_of(text)} | `{' '.join(command.split())}` |"


def tables_of(page):
    """The generated text, and the number of ids."""
    out, count = [], 0
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        head, *entries = re.split(r"^### ", section, flags=re.MULTILINE)
        title, _, intro = head.partition("\n")
        out += ["", f"### {title}", "", "| message | cause | command |", "| --- | --- | --- |"]
        for entry in entries:
            ids, _, text = entry.partition("\n")
            ids = ids.split(", ")
            count += len(ids)
            out.append(row_of(ids, text, COMMAND.findall(intro)))
    return "\n".join(out) + "\n", count


def main():
    docs = pathlib.Path(sys.argv[1]) / "core/docs"
    page = docs / "troubleshooting.md"
    head, mark, _ = page.read_text().partition(MARK)
    tables, count = tables_of((docs / "reference/errors.md").read_text())
    if not mark or count < 200:
        print(f"no '{MARK.strip()}', or hardly any ids ({count}): the check itself is broken")
        return 1
    intro = ("\nThe message begins with the id. This part is made from\n"
             "[reference/errors.md](reference/errors.md), which has each entry at length;\n"
             "`s2s-run explain ID` prints it.\n")
    now = head + mark + intro + tables
    if "--update" in sys.argv[2:]:
        page.write_text(now)
    if page.read_text() != now:
        print("core/docs/troubleshooting.md is older than errors.md:" +
              __doc__[__doc__.index("\nAfter"):])
        return 1
    print(f"ok: {count} ids")
    return 0


sys.exit(main())
