"""Flips single bits in memory, messages and files of a training run, and says what finds them.

usage: bit_flips.py [--build DIR] [--work DIR] [--flips N] [--seed S] [--place TEXT] [--quick]

Each row is a place and a kind of bit; N flips at drawn elements and steps. Columns:
  step      a numerics error, or a warning, before the next save
  save      an error of the next save
  load      an error or a warning of the next command that reads the file
  verify    `checkpoint verify` (of a run: of its last checkpoint) says so
  nothing   no message, and the result is another one
  equal     no message, and the result is that of an undisturbed run, bit for bit
A flip may count for load and verify. Memory is flipped by optimizer:flipping (flips/flipping.cc),
messages by flip_messages.so. With --quick it ends with 1 when a row of files breaks its promise.
"""

import argparse
import collections
import random
import re
import shutil
import struct
import sys
import tempfile

import lab as labs

EVERY = "exp_manager.checkpoint_callback_params"
LAST, SAVE = 12, 4
BITS = {"exponent": 30, "mantissa": 0, "sign": 31}
COLUMNS = ["step", "save", "load", "verify", "nothing", "equal"]
WARNED = re.compile(r"warning: .*", re.IGNORECASE)
Row = collections.namedtuple("Row", "kind place bit")

MEMORY = ["weight", "gradient", "exp_avg", "exp_avg_sq"]
MESSAGES = {"message, process_vm": "process_vm_readv", "message, TCP": "socket"}
OF_CHECKPOINT = ["model.safetensors", "optimizer.safetensors"]
OTHERS = ["checkpoint random.safetensors", "checkpoint index.json", "checkpoint state.json",
          "checkpoint config.yaml",
          "checkpoint tokenizer.model", "run metrics.jsonl", "run config.yaml"]
DATA = ["data train.jsonl", "data audio", "data tokenizer.model"]


def rows():
    for place in MEMORY:
        yield from (Row("memory", place, bit) for bit in BITS)
    for place in MESSAGES:
        yield from (Row("message", place, bit) for bit in BITS)
    for place in OF_CHECKPOINT:
        yield from (Row("file", f"checkpoint {place}", bit) for bit in BITS)
    for place in [*OTHERS, *DATA]:
        yield Row("file", place, "any")


def flip_file(path, draw, bit):
    """Flips a bit of a float of a safetensors file's data, or any bit of another file."""
    data = bytearray(path.read_bytes())
    if bit == "any":
        place = draw.randrange(len(data))
        data[place] ^= 1 << draw.randrange(8)
    else:
        begin = 8 + struct.unpack("<Q", data[:8])[0]
        place = begin + 4 * draw.randrange((len(data) - begin) // 4)
        value = struct.unpack("<I", data[place:place + 4])[0] ^ (1 << BITS[bit])
        data[place:place + 4] = struct.pack("<I", value)
    path.write_bytes(bytes(data))


def warnings_of(text):
    """Warnings without the names of cases and numbers, which differ from run to run."""
    return {re.sub(r"\S*/\S*|\d+", "#", line) for line in WARNED.findall(text)}


class Flips:
    """The places of a lab, with the undisturbed runs that others are compared with."""

    def __init__(self, lab):
        self.lab, self.clean = lab, {}

    def words(self, more=(), last=LAST, data=None):
        return self.lab.train_words([
            f"trainer.max_steps={last}", f"{EVERY}.every_n_train_steps={SAVE}",
            f"{EVERY}.save_top_k=3", "model.lr_scheduler.max_steps=20", *more], data=data)

    def memory_words(self, **options):
        return self.words([
            "~model.optimizer.betas", "~model.optimizer.weight_decay",
            *[f"model.optimizer.{key}={value}"
              for key, value in {"name": "flipping", **options}.items()],
            "--plugin-path", str(self.lab.build / "tests/flips")])

    def message_words(self, place):
        words = self.words([
            "trainer.strategy.name=ddp", "trainer.communicator.name=gloo",
            f"trainer.communicator.peer_memory={str('process_vm' in place).lower()}",
            "trainer.communicator.timeout_s=10"])
        return [words[0], "launch", "local", "-n", "2", "--grace", "5", "--", *words[1:]]

    def result(self, case):
        run = case / "run"
        steps = labs.steps_in(run)
        folder = run / f"checkpoints/step={steps[-1]}" if steps else run
        weights = {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}
        return weights, labs.lasting_metrics(run)

    def fresh(self, name):
        case = self.lab.work / "cases" / name
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir(parents=True)
        return case

    def reference(self, name, words, prepare=None):
        """Result and warnings of an undisturbed run; its folder stays."""
        if name not in self.clean:
            case = self.fresh("clean-" + name.replace(" ", "-").replace(",", ""))
            if prepare:
                prepare(case)
            made = labs.run(words, case, limit_s=300)
            assert made.code == 0, f"{name}: {made.output}"
            self.clean[name] = (*self.result(case), warnings_of(made.output), case)
        return self.clean[name]

    def judge_run(self, case, outcome, clean, at_step):
        """Columns of a run in whose memory or messages a bit was flipped."""
        weights, metrics, warned, _ = clean
        found = set()
        done = len([line for line in labs.lasting_metrics(case / "run") if line and
                    "learning_rate" in line])
        if outcome.code != 0 or warnings_of(outcome.output) - warned:
            of_save = "no checkpoint is written" in outcome.output
            is_late = outcome.code != 0 and done > at_step + 2
            found.add("save" if of_save or is_late else "step")
        steps = labs.steps_in(case / "run")
        if steps and self.lab.verify(case / f"run/checkpoints/step={steps[-1]}"):
            found.add("verify")
        if not found:
            is_equal = self.result(case) == (weights, metrics)
            found.add("equal" if is_equal else "nothing")
        return found, outcome.ids()

    def memory(self, row, draw):
        clean = self.reference("memory", self.memory_words())
        at_step = draw.randint(2, LAST - 3)
        words = self.memory_words(place=row.place, at_step=at_step, bit=BITS[row.bit],
                                  element=f"{draw.random():.6f}")
        case = self.fresh("flip")
        outcome = labs.run(words, case, limit_s=120)
        return self.judge_run(case, outcome, clean, at_step)

    def message(self, row, draw):
        clean = self.reference(row.place, self.message_words(row.place))
        while True:
            case = self.fresh("flip")
            number = draw.randint(2, 30)
            outcome = labs.run(self.message_words(row.place), case, {
                "LD_PRELOAD": str(self.lab.build / "tests/flip_messages.so"),
                "S2S_FLIP": f"{MESSAGES[row.place]}:{number}:{BITS[row.bit]}:{draw.random():.6f}",
                "S2S_FLIP_RANK": str(draw.randrange(2)), "S2S_FLIP_DONE": str(case / "done")},
                limit_s=120)
            if (case / "done").exists():
                return self.judge_run(case, outcome, clean, LAST)

    def flipped_file(self, row, case, draw):
        name = row.place.split(" ")[1]
        if row.place.startswith("data"):
            if name == "audio":
                return draw.choice(sorted((case / "in").rglob("*.wav")))
            return case / "in" / name
        if row.place.startswith("run"):
            return case / "run" / name
        folder = case / f"run/checkpoints/step={LAST}"
        return next(folder.rglob(name))

    def file(self, row, draw):
        """A resume after a flip in its files, or a run on data with a flip."""
        is_data = row.place.startswith("data")
        finished = self.reference("finished", self.words())[3]

        def prepare(case):
            if is_data:
                labs.copy_tree(self.lab.data, case / "in")
            else:
                labs.copy_tree(finished / "run", case / "run")

        words = self.words(["trainer.limit_val_batches=1"] if is_data else [],
                           last=4 if is_data else LAST + 3, data="../in" if is_data else None)
        weights, metrics, warned, _ = self.reference("data" if is_data else "resume", words,
                                                     prepare)
        case = self.fresh("flip")
        prepare(case)
        flip_file(self.flipped_file(row, case, draw), draw, row.bit)
        found = set()
        if not is_data and self.lab.verify(case / f"run/checkpoints/step={LAST}"):
            found.add("verify")
        outcome = labs.run(words, case, limit_s=120)
        if outcome.code != 0 or warnings_of(outcome.output) - warned:
            found.add("load")
        if not found:
            is_equal = self.result(case) == (weights, metrics)
            found.add("equal" if is_equal else "nothing")
        return found, outcome.ids()

    def flip(self, row, draw):
        return getattr(self, row.kind)(row, draw)


def play(flips, row, options):
    counts, ids = collections.Counter(), collections.Counter()
    for number in range(options.flips):
        draw = random.Random(f"{options.seed} {row} {number}")
        found, named = flips.flip(row, draw)
        counts.update(found)
        ids.update(named[:1])
    cells = " | ".join(str(counts[one] or "") for one in COLUMNS)
    text = ", ".join(f"`{one}`" for one in sorted(ids))
    print(f"| {row.place} | {row.bit} | {options.flips} | {cells} | {text} |", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=str(labs.SOURCE / "build"))
    parser.add_argument("--work")
    parser.add_argument("--flips", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--place", default="", help="only rows whose place contains this")
    parser.add_argument("--bit", default="", help="only rows of this kind of bit")
    parser.add_argument("--quick", action="store_true", help="what the tests do")
    options = parser.parse_args()
    work = options.work or tempfile.mkdtemp(prefix="s2s-flips-")
    flips = Flips(labs.Lab(options.build, work))
    chosen = [row for row in rows() if options.place in row.place and
              options.bit in ("", row.bit)]
    if options.quick:
        options.flips = 1
        chosen = [row for row in chosen if row.place in (
            "checkpoint model.safetensors", "checkpoint index.json", "checkpoint state.json")]
        chosen += [Row("memory", "weight", "exponent"), Row("memory", "gradient", "exponent"),
                   Row("message", "message, process_vm", "exponent")]
    print("| place | bit | flips | " + " | ".join(COLUMNS) + " | errors |")
    print("| --- " * (len(COLUMNS) + 4) + "|")
    broken = []
    for row in chosen:
        counts = play(flips, row, options)
        if row.place.startswith("checkpoint") and counts["verify"] != options.flips:
            broken.append(f"{row.place}, {row.bit}: verify found {counts['verify']}")
    for line in broken:
        print("FINDING " + line)
    if not options.work:
        shutil.rmtree(work)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
