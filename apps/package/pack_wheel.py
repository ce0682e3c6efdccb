"""usage: pack_wheel.py FOLDER FILE

Packs the folder of an unpacked wheel. It writes RECORD again and sets one fixed time for all files,
so that equal files give an equal wheel.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

TIME = (2020, 1, 1, 0, 0, 0)


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(archive, name, data, mode):
    entry = zipfile.ZipInfo(name, TIME)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data, compresslevel=9)


def main():
    folder, file = pathlib.Path(sys.argv[1]), sys.argv[2]
    (info,) = folder.glob("*.dist-info")
    record = (info / "RECORD").relative_to(folder).as_posix()
    lines = []
    with zipfile.ZipFile(file, "w") as archive:
        # The wheel format asks for the description of the wheel as the last files.
        for path in sorted(folder.rglob("*"), key=lambda path: (info in path.parents, path)):
            name = path.relative_to(folder).as_posix()
            if not path.is_file() or name == record:
                continue
            data = path.read_bytes()
            add(archive, name, data, 0o755 if path.stat().st_mode & 0o100 else 0o644)
            lines.append(record_line(name, data))
        add(archive, record, ("".join(lines) + f"{record},,\n").encode(), 0o644)


main()
