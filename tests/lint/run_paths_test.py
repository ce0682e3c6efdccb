#!/usr/bin/env python3
"""usage: run_paths_test.py FOLDER [C_COMPILER]

Every place where the loader looks for a library of a program or shared object below FOLDER (a
build tree, an installed prefix) has to be absolute or to begin with $ORIGIN. An empty element, `.`
and any relative one mean the current folder, which may be a downloaded one with a libstdc++.so.6 in
it. A needed library or an interpreter named with a relative path is one, too.

With C_COMPILER, the check is first tried on libraries that break each rule.
"""
import os
import struct
import subprocess
import sys
import tempfile

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NULL, DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 1, 5, 15, 29


def c_string(data, offset):
    end = data.index(b"\0", offset)
    return data[offset:end].decode("utf-8", "replace")


class Elf:
    """What the loader reads of a 64-bit little-endian file; ValueError when it is cut off."""

    def __init__(self, data):
        self.data = data
        try:
            self.segments = self.read_segments()
            self.dynamic = self.read_dynamic()
        except (struct.error, IndexError) as error:
            raise ValueError(str(error)) from error

    def read_segments(self):
        (start,) = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        fields = [struct.unpack_from("<IIQQQQ", self.data, start + i * size) for i in range(count)]
        return [(kind, offset, address, length) for kind, _, offset, address, _, length in fields]

    def offset_of(self, address):
        for kind, offset, start, length in self.segments:
            if kind == PT_LOAD and start <= address < start + length:
                return address - start + offset
        raise ValueError("an address outside of all segments")

    def read_dynamic(self):
        entries = []
        for kind, offset, _, length in self.segments:
            if kind != PT_DYNAMIC:
                continue
            for at in range(offset, offset + length, 16):
                tag, value = struct.unpack_from("<qQ", self.data, at)
                if tag == DT_NULL:
                    break
                entries.append((tag, value))
        return entries

    def texts(self, wanted):
        table = [value for tag, value in self.dynamic if tag == DT_STRTAB]
        for tag, value in self.dynamic:
            if tag in wanted:
                yield c_string(self.data, self.offset_of(table[0]) + value)

    def interpreters(self):
        return [c_string(self.data, offset)
                for kind, offset, _, _ in self.segments if kind == PT_INTERP]


def is_bound(element):
    if element.startswith("/"):
        return True
    return any(element == origin or element.startswith(origin + "/")
               for origin in ("$ORIGIN", "${ORIGIN}"))


def findings_of(path):
    """Nothing for what is no whole ELF file of this kind."""
    with open(path, "rb") as file:
        if file.read(6) != b"\x7fELF\x02\x01":
            return None
        file.seek(0)
        data = file.read()
    (kind,) = struct.unpack_from("<H", data, 16)
    if kind not in (2, 3):  # an executable, a shared object; no object file
        return None
    try:
        elf = Elf(data)
        paths = list(elf.texts({DT_RPATH, DT_RUNPATH}))
        needed = list(elf.texts({DT_NEEDED}))
    except ValueError:
        return None
    elements = [element for text in paths for element in text.split(":")]
    found = ["its run path has the element '%s'" % element
             for element in dict.fromkeys(elements) if not is_bound(element)]
    found += ["it needs '%s'" % name for name in needed if "/" in name and name[0] != "/"]
    found += ["its interpreter is '%s'" % name for name in elf.interpreters() if name[0] != "/"]
    return found


def check(folder):
    """Number of ELF files below `folder`, and the findings."""
    count, found = 0, []
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(root, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            findings = findings_of(path)
            if findings is None:
                continue
            count += 1
            found += ["%s: %s" % (path, finding) for finding in findings]
    return count, found


def try_on_bad_libraries(compiler):
    """The check finds each bad element, and none in good ones."""
    cases = {"/usr/lib:": 1, ":/usr/lib": 1, "/a::/b": 1, ".": 1, "../lib": 1, "lib:./b": 2,
             "$ORIGINS/lib": 1, "/usr/lib": 0, "$ORIGIN": 0, "$ORIGIN/../lib:/usr/lib": 0}
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "one.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("int one(void) { return 1; }\n")
        for run_path, expected in cases.items():
            library = os.path.join(folder, "libone.so")
            command = [compiler, "-shared", "-fPIC", "-o", library, source]
            subprocess.run(command + ["-Wl,-rpath," + run_path], check=True)
            found = findings_of(library)
            assert found is not None and len(found) == expected, (run_path, expected, found)


def main():
    if len(sys.argv) > 2:
        try_on_bad_libraries(sys.argv[2])
    count, found = check(sys.argv[1])
    for finding in found:
        print(finding)
    if found:
        print("FAILED: %d findings in %d files; expected absolute elements or $ORIGIN: give the "
              "target s2s_set_run_path (core/cmake/S2sTorch.cmake) and link it again"
              % (len(found), count))
        return 1
    if count == 0:
        print("FAILED: no ELF file below %s" % sys.argv[1])
        return 1
    print("ok: %d ELF files" % count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
