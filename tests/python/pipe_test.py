"""usage: pipe_test.py S2S_RUN

`generate --stream --input -` with raw samples and WAV, its JSON lines, ^C, readers and writers that
go away, and what it refuses; `train --json`, whose reader may go away, too.
"""

import base64
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import threading
import time
import wave

import kit

UNKNOWN = 0xFFFFFFFF


def samples_of(path):
    with wave.open(str(path), "rb") as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        return file.readframes(file.getnframes()), file.getframerate()


def generate_words(*more):
    return ["generate", "--checkpoint", str(kit.trained_run()), *map(str, more)]


def piped(data, *more):
    return kit.run(*generate_words("--stream", "--input", "-", *more), input=data)


def answer_of_file(path, *more):
    """The samples and the line of the answer to a file, made without a pipe."""
    folder = kit.SCRATCH / f"answers-{time.monotonic_ns()}"
    kit.done(*generate_words("--input", path, "--output", folder, *more))
    line = json.loads((folder / "answers.jsonl").read_text())
    return samples_of(folder / line["output"])[0], line


def wav_bytes(tag, bits, channels, rate, data, size=None, chunks=b""):
    frame = channels * bits // 8
    size = len(data) if size is None else size
    form = struct.pack("<HHIIHH", tag, channels, rate, rate * frame, frame, bits)
    return (b"RIFF" + struct.pack("<I", UNKNOWN) + b"WAVE" + chunks + b"fmt "
            + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", size) + data)


def start(*more):
    """A process that waits for audio."""
    return subprocess.Popen([kit.PROGRAM, *generate_words("--stream", "--input", "-", *more)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def write_rest(process, data):
    with process.stdin:
        process.stdin.write(data)


def test_raw_samples_give_the_answer_of_the_file():
    kit.trained_run()
    data, rate = samples_of(kit.recording())
    expected, line = answer_of_file(kit.recording())
    answer = piped(data)
    assert answer.returncode == 0, answer.stderr.decode()
    assert answer.stdout == expected, (len(answer.stdout), len(expected))
    assert f"{line['seconds']:.2f} s of audio in" in answer.stderr.decode(), answer.stderr.decode()
    odd = piped(data + b"\1", "--input-rate", rate)
    assert odd.stdout == expected
    assert "has 1 bytes after its last whole sample" in odd.stderr.decode(), odd.stderr.decode()


def test_wav_gives_wav_and_a_file_gets_its_sizes():
    data, rate = samples_of(kit.recording(2))
    expected, _ = answer_of_file(kit.recording(2))
    audio = wav_bytes(1, 16, 1, rate, data, chunks=b"LIST" + struct.pack("<I", 3) + b"abc\0")
    answer = piped(audio)
    assert answer.returncode == 0, answer.stderr.decode()
    assert answer.stdout[:4] == b"RIFF" and answer.stdout[4:8] == struct.pack("<I", UNKNOWN)
    assert answer.stdout[44:] == expected
    path = kit.SCRATCH / "answer.wav"
    with open(path, "wb") as file:
        subprocess.run([kit.PROGRAM, *generate_words("--stream", "--input", "-")], input=audio,
                       stdout=file, check=True, stderr=subprocess.DEVNULL)
    assert samples_of(path) == (expected, 16000)


def test_other_rates_types_and_channels_give_the_answer_of_the_file():
    data, _ = samples_of(kit.recording())
    values = [value / 32768 for value in struct.unpack(f"<{len(data) // 2}h", data)]
    values = values[::2]  # 8 kHz
    frames = b"".join(struct.pack("<ff", 0.5, value) for value in values)
    path = kit.SCRATCH / "stereo.wav"
    path.write_bytes(wav_bytes(3, 32, 2, 8000, frames))
    expected, line = answer_of_file(path, "--channel", 1)
    answer = piped(wav_bytes(3, 32, 2, 8000, frames, size=UNKNOWN), "--channel", "1")
    assert answer.returncode == 0, answer.stderr.decode()
    assert answer.stdout[44:] == expected
    wide = b"".join(struct.pack("<i", int(value * 2 ** 31))[1:] for value in values)
    answer = piped(wav_bytes(1, 24, 1, 8000, wide), "--json")
    pieces = [json.loads(piece) for piece in answer.stdout.splitlines()]
    assert sum((piece["text_tokens"] for piece in pieces[1:-1]), []) == line["text_tokens"]


def test_json_lines_come_while_the_audio_does():
    data, _ = samples_of(kit.recording())
    _, line = answer_of_file(kit.recording())
    folder = kit.SCRATCH / "piped"
    process = start("--json", "--output", folder)
    process.stdin.write(data[:len(data) // 2])
    process.stdin.flush()
    head, first = (json.loads(process.stdout.readline()) for _ in range(2))  # the pipe is open
    assert head == {"input": "raw", "input_sample_rate_hz": 16000, "sample_rate_hz": 16000,
                    "frame_length_s": 0.08}, head
    # A thread writes the rest: a pipe that is full waits for its reader.
    threading.Thread(target=write_rest, args=(process, data[len(data) // 2:])).start()
    rest = [json.loads(piece) for piece in process.stdout]
    pieces, end = [first] + rest[:-1], rest[-1]
    assert process.wait() == 0
    assert end["end"] and end["text"] == line["text"] and end["seconds"] == line["seconds"], end
    assert "".join(piece["text"] for piece in pieces) == line["text"]
    assert sum((piece["text_tokens"] for piece in pieces), []) == line["text_tokens"]
    assert sum((piece["audio_tokens"] for piece in pieces), []) == line["audio_tokens"]
    audio = b"".join(base64.b64decode(piece["audio"]) for piece in pieces)
    kept = json.loads((folder / "answers.jsonl").read_text())
    assert kept["input"] == "-" and kept["text_tokens"] == line["text_tokens"], kept
    assert samples_of(folder / kept["output"])[0] == audio
    again = piped(data, "--output", folder)
    assert again.returncode == 5 and b"[io/exists]" in again.stderr, again.stderr.decode()


def test_interrupt_ends_the_audio_and_completes_the_answer():
    data, _ = samples_of(kit.recording())
    process = start("--json")
    process.stdin.write(data[:len(data) // 2])
    process.stdin.flush()
    for _ in range(2):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    output, messages = process.communicate(timeout=60)
    assert process.returncode == 8, messages.decode()
    assert b"stopping: the audio ends here" in messages, messages.decode()
    assert json.loads(output.splitlines()[-1])["end"], output[-200:]
    waiting = start()
    while b"loading" not in waiting.stderr.readline():
        pass
    time.sleep(2)  # until it waits for the first sample; before, ^C ends it at once
    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=60)
    assert waiting.returncode in (8, -signal.SIGINT), waiting.returncode


def test_a_reader_that_ends_is_no_error():
    data, _ = samples_of(kit.recording())
    process = start()
    process.stdin.write(data[:len(data) // 2])
    process.stdin.flush()
    assert process.stdout.read(1000)
    process.stdout.close()
    messages = process.stderr.read().decode()  # its standard input is still open
    assert process.wait(timeout=60) == 0, messages
    assert "the reader of standard output has ended" in messages, messages


def test_what_it_refuses():
    data, rate = samples_of(kit.recording())
    good = kit.recording()
    cases = [
        (b"", ["--stream", "--input", "-"], 5, "[data/empty-audio] standard input has no samples"),
        (wav_bytes(1, 16, 1, rate, b"", size=UNKNOWN), ["--stream", "--input", "-"], 5,
         "[data/empty-audio]"),
        (b"RIFF\0\0\0\0WAVE", ["--stream", "--input", "-"], 5, "its WAV header is cut off"),
        (b"fLaC" + data, ["--stream", "--input", "-"], 5, "standard input cannot be read: it is F"),
        (wav_bytes(2, 4, 1, rate, data), ["--stream", "--input", "-"], 5,
         "it is WAV of format 2 with 4 bits per sample"),
        (wav_bytes(1, 16, 1, 100, data), ["--stream", "--input", "-"], 5, "1 channels at 100 Hz"),
        (wav_bytes(3, 32, 1, rate, struct.pack("<f", float("nan"))), ["--stream", "--input", "-"],
         5, "a sample is not finite"),
        (data, ["--stream", "--input", "-", "--channel", "1"], 5, "[data/channel]"),
        (data, ["--input", "-"], 2, "add --stream"),
        (data, ["--stream", "--input", "-", good], 2, "takes no other recordings"),
        (data, ["--input", good, "--output", kit.SCRATCH / "none", "--input-rate", "8000"], 2,
         "--input-rate is for audio from standard input"),
        (data, ["--stream", "--input", "-", "--input-rate", "10"], 2, "--input-rate"),
    ]
    for audio, words, code, message in cases:
        answer = kit.run(*generate_words(*words), input=audio)
        text = answer.stderr.decode()
        assert answer.returncode == code and message in text and "error: [" in text, (words, text)
        assert answer.stdout == b"", (words, answer.stdout[:100])
    terminal, _ = pty.openpty()
    typed = subprocess.run([kit.PROGRAM, *generate_words("--stream", "--input", "-")],
                           stdin=terminal, capture_output=True, timeout=60)
    assert typed.returncode == 2 and b"standard input is a terminal" in typed.stderr, typed.stderr


def test_a_cut_off_file_is_told():
    data, rate = samples_of(kit.recording())
    answer = piped(wav_bytes(1, 16, 1, rate, data[:32000], size=40000))
    assert answer.returncode == 0, answer.stderr.decode()
    assert b"ended 8000 bytes before the end of its samples" in answer.stderr, answer.stderr


def test_generate_json_prints_the_lines_of_answers():
    folder = kit.SCRATCH / "lines"
    answer = kit.done(*generate_words("--input", kit.recording(), kit.recording(2), "--output",
                                      folder, "--json"))
    printed = [json.loads(line) for line in answer.stdout.splitlines()]
    written = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    assert printed == written and len(printed) == 2, printed


def test_train_json_prints_the_lines_of_metrics():
    folder = kit.SCRATCH / "told"
    process = kit.done("train", "--json", *kit.tiny("told", "trainer.max_steps=4"))
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    assert lines[0] == {"run": str(folder)}, lines[0]
    written = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert lines[1:] == written and written[-1]["step"] == 4, lines
    more = kit.done("train", "--json", *kit.tiny("told", "trainer.max_steps=6"))
    assert [json.loads(line).get("step") for line in more.stdout.splitlines()
            if b"validation" not in line] == [None, 5, 6]


def test_a_training_stops_with_its_reader():
    process = subprocess.Popen(
        [kit.PROGRAM, "train", "--json", *kit.tiny("unread", "trainer.max_steps=100000",
                                                   "trainer.val_check_interval=100000")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(3):
        process.stdout.readline()
    process.stdout.close()
    messages = process.stderr.read().decode()
    assert process.wait(timeout=120) == 8, messages
    assert "stopped with a checkpoint" in messages, messages
    assert os.path.islink(kit.SCRATCH / "unread" / "checkpoints" / "last")


if __name__ == "__main__":
    sys.exit(kit.run_tests(dict(globals())))
