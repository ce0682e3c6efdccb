"""Puts the equality matrices that the tests wrote into core/docs/guides/parallelism.md.

usage: equality_matrix.py SOURCE_DIR BUILD_DIR [--check]

--check: nothing is written; exit code 1 when the document lacks a layout or a model of the tests,
or shows one that they do not have. (The differences vary a little between machines.)
"""

import json
import pathlib
import sys

FILES = ["data", "tensor", "data_lora", "tensor_lora"]
FILES += ["data_duplex", "tensor_duplex", "data_partly"]
CROSSED = ["crossed", "crossed_duplex"]


def read_tables(build, files):
    """{layout: {model: difference}}, layouts and models in the order of the tests."""
    rows = {}
    for name in files:
        path = build / f"equality_{name}.json"
        if not path.exists():
            sys.exit(f"{path.name} is not there: run the parallel_equality tests first")
        for row in json.loads(path.read_text()):
            rows.setdefault(row["layout"], {}).update(row["models"])
    return rows


def shown(difference):
    return "0" if difference == 0 else f"{difference:.0e}"


def lines_of(columns, rows):
    lines = ["| layout | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    for layout, cells in rows.items():
        lines.append(f"| {layout} | " + " | ".join(cells.get(c, "") for c in columns) + " |")
    return lines


def matrix_text(rows):
    models = []
    for cells in rows.values():
        models += [model for model in cells if model not in models]
    cells = {layout: {m: shown(d) for m, d in row.items()} for layout, row in rows.items()}
    return "\n".join(lines_of(models, cells))


def crossing_text(rows):
    """A column for each variant, of the cells "variant: model"; the largest of all models."""
    variants, models, cells = [], [], {}
    for layout, row in rows.items():
        largest = {}
        for name, difference in row.items():
            variant, model = name.split(": ")
            variants += [variant] if variant not in variants else []
            models += [model] if model not in models else []
            largest.setdefault(variant, {})[model] = difference
        cells[layout] = {v: shown(max(d.values())) for v, d in largest.items()}
        for variant in variants:
            if set(largest[variant]) != set(models):
                sys.exit(f"{layout}, {variant}: not all models")
    return "\n".join(lines_of(variants, cells) + ["", "Models: " + "; ".join(models) + "."])


def names_of(text):
    """What a table is about: its columns, its rows, and the lines below it."""
    lines = text.strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in lines if line.startswith("|")]
    rest = [line for line in lines if not line.startswith("|")]
    return (cells[0][1:], [row[0] for row in cells[2:]], rest) if len(cells) > 2 else ([], [], rest)


def main():
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    page = source / "core/docs/guides/parallelism.md"
    text = page.read_text()
    tables = {"equality matrix": matrix_text(read_tables(build, FILES)),
              "crossing": crossing_text(read_tables(build, CROSSED))}
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, rest = text.split(begin)
        in_page, after = rest.split(end)
        if "--check" in sys.argv and names_of(in_page) != names_of(table):
            sys.exit(f"{page.name} shows another {name} than the tests have; "
                     f"run {sys.argv[0]} without --check")
        text = before + begin + "\n" + table + "\n" + end + after
    if "--check" in sys.argv:
        print("ok: the matrices of", page.name, "have the tests' rows and columns")
    else:
        page.write_text(text)


if __name__ == "__main__":
    main()
