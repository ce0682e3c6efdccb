"""usage: layers_test.py SOURCE_DIR

Files of core include what core/layers.txt allows, and architecture.md has a row for each room.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'#include "([^"]+)"')


def read_layers(path):
    """Returns layers in order, {room: layer}, {room: allowed rooms} and {header: layer}."""
    order, layer_of, allowed, headers = [], {}, {}, {}
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        left, right = line.split(":")
        layer, room = left.split()
        if layer == "headers":
            headers.update({f"s2s/{name}.h": room for name in right.split()})
            continue
        if layer not in order:
            order.append(layer)
        layer_of[room] = layer
        allowed[room] = {"base", room, *right.split()}
    return order, layer_of, allowed, headers


class Check:
    def __init__(self, root):
        self.core = root / "core"
        self.order, self.layer_of, self.allowed, self.headers = read_layers(
            self.core / "layers.txt")
        self.findings = []

    def rank(self, layer):
        return self.order.index(layer)

    def check_file(self, path, room, layer):
        """room: None for a public header."""
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            name = found.group(1)
            target = str(pathlib.PurePath(name).parent)
            wrong = target in self.layer_of and room and target not in self.allowed[room]
            if name in self.headers:
                wrong = self.rank(self.headers[name]) > self.rank(layer)
            if wrong:
                self.findings.append(f"{path.relative_to(self.core.parent)}:{number}: "
                                     f"{room or layer} may not include {name}")

    def run(self):
        for room, layer in self.layer_of.items():
            for path in sorted((self.core / layer / room).glob("*.[ch]*")):
                self.check_file(path, room, layer)
        include = self.core / "include"
        for path in sorted(include.rglob("*.h")):
            name = str(path.relative_to(include))
            if name not in self.headers:
                self.findings.append(f"core/layers.txt: no layer has {name}")
            else:
                self.check_file(path, None, self.headers[name])
        self.check_lists()

    def check_lists(self):
        table = (self.core / "docs/internals/architecture.md").read_text()
        for room, allowed in self.allowed.items():
            if f"`{room}`" not in table:
                self.findings.append(f"core/docs/internals/architecture.md: no row for `{room}`")
            for other in allowed - set(self.layer_of):
                self.findings.append(f"core/layers.txt: {room}: there is no room {other}")
        # In the order of the list nothing includes what comes after it: there is no cycle.
        rooms = list(self.layer_of)
        for room, allowed in self.allowed.items():
            for other in allowed & set(rooms):
                if rooms.index(other) > rooms.index(room):
                    self.findings.append(f"core/layers.txt: {room} is listed above {other}")
        for layer in self.order:
            for path in (self.core / layer).rglob("*.cc"):
                room = str(path.parent.relative_to(self.core / layer))
                if self.layer_of.get(room) != layer:
                    self.findings.append(f"core/layers.txt: no room core/{layer}/{room}")


def main():
    check = Check(pathlib.Path(sys.argv[1]).resolve())
    check.run()
    print("\n".join(sorted(set(check.findings))) or f"ok: {len(check.layer_of)} rooms")
    sys.exit(bool(check.findings))


main()
