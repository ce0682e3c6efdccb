"""What a disk may hold after a power cut, from a record of s2s_faults.so.

Files, folders and links are inodes. Each recorded call becomes an effect on the data of one inode
or on names in folders. POSIX promises of an effect only what a later fsync of that inode (of the
folder, for names) confirms: until then it may be there, be missing, or be there without an earlier
one. A rename is one effect: both of its names or none.
"""

import hashlib
import itertools
import os
import re

ESCAPED = re.compile(r"\\x([0-9a-f]{2})")
BLOCK = 4096
MOST_BYTES = 1 << 22  # of writes that follow each other, taken as one
KEPT_BYTES = 1 << 16  # of a file's content, kept beside its digest
IGNORED = (".lock", "log.txt")  # nothing is read back from them


class Effect:
    """`inode`: whose data changes; or `names`: [(folder, name, inode or None)]."""

    def __init__(self, number, call, inode=None, names=(), offset=0, data=b"", length=None):
        self.number, self.call, self.inode, self.names = number, call, inode, list(names)
        self.offset, self.data, self.length = offset, data, length


class Sync:
    def __init__(self, number, inode):
        self.number, self.inode = number, inode


def read_record(file):
    """[(operation, path, second, offset, data)]"""
    calls = []
    with open(file, "rb") as source:
        while line := source.readline():
            words = line.decode().rstrip("\n").split("\t")
            path, second = (ESCAPED.sub(lambda m: chr(int(m.group(1), 16)), word)
                            for word in words[1:3])
            calls.append((words[0], path, second, int(words[3]), source.read(int(words[4]))
                          if words[0] != "truncate" else b""))
    return calls


class Disk:
    """The inodes of one recorded run below `root`, and its effects in order."""

    def __init__(self, root, initial):
        self.root = str(root)
        self.kinds, self.base, self.steps = {}, {}, []
        self.next_inode = 0
        self.orphans = {}
        self.tree = {}  # folder inode -> {name: inode}, as the program saw it
        self.top = self.load(initial)
        self.first_tree = {folder: dict(names) for folder, names in self.tree.items()}
        self.contents = {}

    def new(self, kind, content=b""):
        self.next_inode += 1
        self.kinds[self.next_inode], self.base[self.next_inode] = kind, content
        if kind == "folder":
            self.tree[self.next_inode] = {}
        return self.next_inode

    def load(self, path):
        if path is not None and path.is_symlink():
            return self.new("link", os.readlink(path).encode())
        if path is not None and path.is_file():
            return self.new("file", path.read_bytes())
        folder = self.new("folder")
        for child in sorted(path.iterdir()) if path is not None and path.is_dir() else []:
            if child.name not in IGNORED:
                self.tree[folder][child.name] = self.load(child)
        return folder

    def parts(self, path):
        """Names below the root; None for what lies elsewhere."""
        if path == self.root:
            return []
        if not path.startswith(self.root + "/"):
            return None
        return path[len(self.root) + 1:].split("/")

    def look_up(self, path):
        if path.endswith(" (deleted)"):
            return self.orphans.get(path)
        names = self.parts(path)
        found = self.top if names is not None else None
        for name in names or []:
            found = self.tree.get(found, {}).get(name)
        return found

    def place(self, path):
        """(folder inode, name)"""
        names = self.parts(path)
        if not names:
            return None, None
        return self.look_up("/".join([self.root, *names[:-1]])), names[-1]

    def rename_names(self, path, second, exchanges):
        from_folder, from_name = self.place(path)
        to_folder, to_name = self.place(second)
        inode, other = self.look_up(path), self.look_up(second)
        return [(from_folder, from_name, other if exchanges else None),
                (to_folder, to_name, inode)]

    def names_of(self, call, path, second):
        """The names that a call changes, as [(folder, name, inode)]."""
        if call in ("rename", "exchange"):
            return self.rename_names(path, second, call == "exchange")
        if call in ("unlink", "rmdir"):
            return [(*self.place(path), None)]
        if call == "mkdir":
            return [(*self.place(path), self.new("folder"))]
        if call == "symlink":
            return [(*self.place(second), self.new("link", path.encode()))]
        if call == "link":
            return [(*self.place(second), self.look_up(path))]
        return [(*self.place(path), self.new("file"))]

    def add(self, call, path, second, offset, data):
        """Takes one recorded call."""
        number = len(self.steps)
        name = (second if call in ("symlink", "link") else path).rsplit("/", 1)[-1]
        if name in IGNORED or (call == "mkdir" and path == self.root):
            return
        if call == "sync":
            inode = self.look_up(path)
            if inode is not None:
                self.steps.append(Sync(number, inode))
        elif call in ("write", "truncate"):
            inode = self.look_up(path)
            if inode is None and "(deleted)" in path:
                inode = self.orphans[path] = self.new("file")
            length = offset if call == "truncate" else None
            if inode is not None and not self.joins(inode, offset, data, length):
                self.steps.append(Effect(number, call, inode, (), offset, data, length))
        elif call == "create" and self.look_up(path) is not None:
            if second == "truncate":
                self.steps.append(Effect(number, call, self.look_up(path), length=0))
        else:
            names = self.names_of(call, path, second)
            if any(folder is None for folder, _, _ in names):
                raise ValueError(f"{call} {path} {second}: its folder is not known")
            for folder, one, inode in names:
                change(self.tree, folder, one, inode)
            self.steps.append(Effect(number, call, None, names))

    def joins(self, inode, offset, data, length):
        """True when a write goes on where the one before it ended, and is made one with it."""
        before = self.steps[-1] if self.steps else None
        if not isinstance(before, Effect) or before.inode != inode or before.call != "write":
            return False
        end = before.offset + len(before.data)
        if length is not None or offset != end or len(before.data) + len(data) > MOST_BYTES:
            return False
        before.data += data
        return True

    def pending(self, until):
        """Effects before `until` that no sync has confirmed."""
        confirmed = set()
        synced = set()  # inodes that are synced later than the place that is looked at
        for step in reversed(self.steps[:until]):
            if isinstance(step, Sync):
                synced.add(step.inode)
            elif step.inode in synced or any(folder in synced for folder, _, _ in step.names):
                confirmed.add(step.number)
        return [step for step in self.steps[:until]
                if isinstance(step, Effect) and step.number not in confirmed]

    def make(self, inode, applied):
        data = bytearray(self.base[inode])
        for number, torn in applied:
            step = self.steps[number]
            if step.length is not None:
                data = data[:step.length].ljust(step.length, b"\0")
                continue
            part = tear(step.data, torn)
            data = data.ljust(step.offset, b"\0")
            data[step.offset:step.offset + len(part)] = part
        return bytes(data)

    def content(self, inode, applied):
        """Digest and bytes of a file after some effects; `applied`: ((number, torn), ...). Of a
        long file the bytes are a function that makes them."""
        key = (inode, applied)
        if key not in self.contents:
            data = self.make(inode, applied)
            kept = data if len(data) <= KEPT_BYTES else lambda: self.make(inode, applied)
            self.contents[key] = (hashlib.sha1(data).hexdigest(), kept)
        return self.contents[key]

    def state(self, until, dropped=frozenset(), torn=None):
        """{path: ('file', digest, bytes or their maker) | ('link', target) | ('folder',)}."""
        tree = {folder: dict(names) for folder, names in self.first_tree.items()}
        applied = {}
        for step in self.steps[:until]:
            if isinstance(step, Sync) or step.number in dropped:
                continue
            if step.names:
                for folder, name, inode in step.names:
                    change(tree, folder, name, inode)
            else:
                how = torn[1] if torn and torn[0] == step.number else None
                applied.setdefault(step.inode, []).append((step.number, how))
        found = {}
        self.walk(tree, applied, self.top, "", found)
        return found

    def walk(self, tree, applied, folder, prefix, found):
        for name, inode in sorted(tree.get(folder, {}).items()):
            path = prefix + name
            kind = self.kinds[inode]
            if kind == "folder":
                found[path] = ("folder",)
                self.walk(tree, applied, inode, path + "/", found)
            elif kind == "link":
                found[path] = ("link", self.base[inode].decode())
            else:
                digest, data = self.content(inode, tuple(applied.get(inode, ())))
                found[path] = ("file", digest, data)


def bytes_of(entry):
    return entry[2]() if callable(entry[2]) else entry[2]


def change(tree, folder, name, inode):
    if inode is None:
        tree.setdefault(folder, {}).pop(name, None)
    else:
        tree.setdefault(folder, {})[name] = inode


def tear(data, how):
    """A write of which the last block, or the second half, never came, or came as zeros."""
    if how is None:
        return data
    whole = max(0, (len(data) - 1) // BLOCK * BLOCK) if how != "half" else len(data) // 2
    return data[:whole] + (b"\0" * (len(data) - whole) if how == "zeros" else b"")


def subsets(pending, most, limit, draw):
    """Sets of up to `most` of them; when there are too many, some that are drawn."""
    numbers = [step.number for step in pending]
    for size in range(1, most + 1):
        chosen = list(itertools.islice(itertools.combinations(numbers, size), 50 * limit))
        if len(chosen) > limit:
            chosen = draw.sample(chosen, limit)
        yield from (frozenset(one) for one in chosen)


def legal_states(disk, draw, limit=120):
    """(until, dropped, torn) of every disk that a power cut may leave: what was asked for so far,
    less up to three calls that no sync confirmed; or only up to two of these; or one of them
    torn."""
    for until in range(len(disk.steps) + 1):
        pending = disk.pending(until)
        every = frozenset(step.number for step in pending)
        yield until, frozenset(), None
        if not pending:
            continue
        yield until, every, None
        for dropped in subsets(pending, 3, limit, draw):
            yield until, dropped, None
        for kept in subsets(pending, 2, limit, draw):
            yield until, every - kept, None
        for step in pending:
            if step.inode is None or not step.data:
                continue
            for how in ("block", "zeros", "half"):
                yield until, frozenset(), (step.number, how)
                yield until, every - {step.number}, (step.number, how)
