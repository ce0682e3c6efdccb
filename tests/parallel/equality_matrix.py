"""Puts the equality matrix that the tests wrote into core/docs/parallelism.md.

usage: equality_matrix.py SOURCE_DIR BUILD_DIR [--check]

--check: nothing is written; exit code 1 when the document lacks a layout or a model of the tests,
or shows one that they do not have. (The differences vary a little between machines.)
"""

import json
import pathlib
import sys

FILES = ["data", "tensor", "data_lora", "tensor_lora"]
FILES += ["data_duplex", "tensor_duplex", "data_partly"]
BEGIN, END = "<!-- equality matrix: begin -->", "<!-- equality matrix: end -->"


def read_tables(build):
    """{layout: {model: difference}}, layouts and models in the order of the tests."""
    rows = {}
    for name in FILES:
        path = build / f"equality_{name}.json"
        if not path.exists():
            sys.exit(f"{path.name} is not there: run the parallel_equality tests first")
        for row in json.loads(path.read_text()):
            rows.setdefault(row["layout"], {}).update(row["models"])
    return rows


def table_text(rows):
    models = []
    for cells in rows.values():
        models += [model for model in cells if model not in models]
    lines = ["| layout | " + " | ".join(models) + " |", "| --- |" + " --- |" * len(models)]
    for layout, cells in rows.items():
        shown = [f"{cells[m]:.0e}" if m in cells else "" for m in models]
        shown = ["0" if cell == "0e+00" else cell for cell in shown]
        lines.append(f"| {layout} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def names_of(text):
    lines = [line for line in text.strip().splitlines() if line.startswith("|")]
    first = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return (first[0][1:], [row[0] for row in first[2:]]) if len(first) > 2 else ([], [])


def main():
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    page = source / "core/docs/parallelism.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    shown, after = rest.split(END)
    table = table_text(read_tables(build))
    if "--check" in sys.argv:
        if names_of(shown) != names_of(table):
            sys.exit(f"{page.name} shows another matrix than the tests have; "
                     f"run {sys.argv[0]} without --check")
        print("ok: the matrix of", page.name, "has the tests' rows and columns")
        return
    page.write_text(before + BEGIN + "\n" + table + "\n" + END + after)


if __name__ == "__main__":
    main()
