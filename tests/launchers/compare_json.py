"""Do two JSON files hold the same numbers?

usage: compare_json.py FILE OTHER TOLERANCE

Every number relative to its size, everything else as it is; paths of reports aside.
"""

import json
import sys


def compare(a, b, tolerance, path):
    assert type(a) is type(b), f"{path}: {a} and {b}"
    if isinstance(a, dict):
        assert a.keys() == b.keys(), f"{path}: {sorted(a)} and {sorted(b)}"
        for key in a:
            if key != "report":
                compare(a[key], b[key], tolerance, f"{path}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), f"{path}: {len(a)} and {len(b)}"
        for i, (one, other) in enumerate(zip(a, b)):
            compare(one, other, tolerance, f"{path}.{i}")
    elif isinstance(a, float):
        assert abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-3), f"{path}: {a} and {b}"
    else:
        assert a == b, f"{path}: {a} and {b}"


with open(sys.argv[1]) as one, open(sys.argv[2]) as other:
    compare(json.load(one), json.load(other), float(sys.argv[3]), "")
