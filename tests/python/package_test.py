"""usage: package_test.py S2S_RUN

`import s2s`: training, validation, answers, what a run wrote, errors, ^C and iterators that are
closed early. Exit code 77, and why, where numpy or pandas cannot be imported.
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import warnings

import kit

try:
    import numpy
    import pandas
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(kit.SOURCE / "apps" / "package"))
os.environ["S2S_RUN"] = kit.PROGRAM
import s2s  # noqa: E402

PLACES = {"tiny.data": kit.SCRATCH / "data"}


def train(name, config=kit.TINY, **more):
    return s2s.train(config, **PLACES, **{"tiny.run": kit.SCRATCH / name}, **more)


def endless(name):
    return train(name, trainer={"max_steps": 1000000, "val_check_interval": 1000000})


def error_of(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except s2s.Error as error:
        return error
    raise AssertionError(f"{call.__name__} was not refused")


def samples():
    kit.trained_run()
    import wave
    with wave.open(str(kit.recording()), "rb") as file:
        return numpy.frombuffer(file.readframes(file.getnframes()), "<i2")


def test_training_gives_its_metrics_while_it_runs():
    training = train("first")
    first = next(training)
    assert first["step"] == 1 and first["loss"] > 0, first
    assert training.exit_code is None and training.run.folder == kit.SCRATCH / "first"
    rest = list(training)
    steps = [line["step"] for line in [first] + rest if "validation" not in line]
    assert steps == list(range(1, 11)), steps
    assert [line["step"] for line in rest if line.get("validation") == "dev"] == [5, 10]
    assert training.exit_code == 0 and list(training) == []


def test_a_run_has_metrics_checkpoints_and_audio():
    run = s2s.Run(kit.trained_run())
    metrics = run.metrics
    assert isinstance(metrics, pandas.DataFrame) and list(metrics.step) == list(range(1, 11))
    assert metrics.loss.iloc[-1] < metrics.loss.iloc[0] and metrics.grad_norm.dtype == float
    assert list(run.validations.validation) == ["dev", "dev"]
    assert [checkpoint.step for checkpoint in run.checkpoints] == [5, 10]
    assert run.audio == [] and run.report is None
    scores = s2s.validate(run, limit_batches=1)
    assert scores["step"] == 10 and scores["sets"]["dev"]["text_loss"] > 0, scores
    assert str(run.report) == scores["report"]
    example = run.audio[0]
    assert example.data_set == "dev" and set(example.clips) >= {"user", "answer"}, example
    assert example.user.samples.dtype == numpy.float32 and example.user.sample_rate == 16000
    assert "<audio controls" in example._repr_html_()
    other = s2s.validate(kit.TINY, checkpoint=run.checkpoints[0], limit_batches=1,
                         report=kit.SCRATCH / "report", **PLACES)
    assert other["step"] == 5


def test_a_step_that_was_trained_again_counts_once():
    folder = kit.SCRATCH / "written"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(
        '{"step": 1, "loss": 3.0}\n{"step": 2, "loss": 2.0}\nnonsense\n{"step": 2, "loss": 1.5}\n'
        '{"step": 2, "validation": "dev", "loss": 4.0}\n{"step": 3, "lo')
    run = s2s.Run(folder)
    assert list(run.metrics.loss) == [3.0, 1.5] and list(run.validations.loss) == [4.0]
    assert s2s.Run(kit.SCRATCH).lines == [] and len(s2s.Run(kit.SCRATCH).metrics) == 0


def test_answers_have_arrays():
    audio = samples()
    run = s2s.Run(kit.trained_run())
    answer = s2s.generate(audio, run, sample_rate=16000)
    assert answer.audio.dtype == numpy.float32 and answer.audio.ndim == 1
    assert answer.sample_rate == 16000 and abs(answer.audio).max() <= 1
    assert answer.tokens.dtype == numpy.int64 and len(answer.tokens) == len(answer.audio_tokens)
    assert abs(answer.seconds - len(audio) / 16000) < 1e-6
    several = s2s.generate([kit.recording(), str(kit.recording()), audio / numpy.float64(32768)],
                           checkpoint=run.checkpoints[-1], sample_rate=16000, stream=True)
    for other in several:
        assert numpy.array_equal(other.audio, answer.audio) and other.text == answer.text
    folder = kit.SCRATCH / "kept"
    s2s.generate(kit.recording(), run, output=folder, temperature=1.5, seed=3, top_k=9)
    assert (folder / "answers.jsonl").exists()
    assert error_of(s2s.generate, kit.recording(), run, output=folder).id == "io/exists"
    answer.clip.save(kit.SCRATCH / "answer.wav")
    assert "<audio controls" in answer._repr_html_()
    assert s2s.generate([], run) == []


def test_texts_are_continued():
    folder = kit.SCRATCH / "text"
    data = kit.SCRATCH / "texts.jsonl"
    data.write_text('{"text": "one two three four five six"}\n' * 8)
    tokenizer = kit.SCRATCH / "words.model"
    plain = kit.SCRATCH / "plain.txt"
    plain.write_text("one two three four five six\n")
    kit.done("tokenizer", "train", "--input", plain, "--output", tokenizer, "--vocab-size", 64)
    config = {
        "model": {"type": "causal_lm",
                  "tokenizer": {"name": "sentencepiece", "path": tokenizer},
                  "llm": {"name": "llama", "vocab_size": 64, "hidden_size": 16,
                          "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                          "num_key_value_heads": 2},
                  "optimizer": {"name": "adamw", "lr": numpy.float32(0.01)}},
        "data": {"train_ds": {"name": "text", "path": data, "batch_size": 2, "max_seq_len": 16}},
        "trainer": {"accelerator": "cpu", "max_steps": 2, "strategy": {"name": "single"}},
        "exp_manager": {"explicit_log_dir": folder},
    }
    steps = [line["step"] for line in s2s.train(config)]
    assert steps == [1, 2], steps
    answers = s2s.generate(["one two", "--three"], folder, max_new_tokens=3)
    assert len(answers) == 2 and isinstance(answers[0].text, str) and answers[0].audio is None
    assert len(answers[1].tokens) == 3 and answers[1].line["prompt"] == "--three"
    refused = error_of(s2s.generate, samples(), folder, sample_rate=16000)
    assert refused.exit_code != 0 and refused.id, refused


def test_errors_of_the_program_are_exceptions():
    unknown = error_of(list, train("none", model={"optimizr": 1}))
    assert unknown.id.startswith("config/") and unknown.exit_code == 3, unknown
    assert "optimizr" in unknown.message and str(unknown).startswith(f"[{unknown.id}] ")
    missing = error_of(s2s.generate, "nothing.wav", kit.trained_run())
    assert (missing.id, missing.exit_code) == ("data/missing-file", 5), missing
    usage = error_of(s2s.generate, kit.recording(), kit.trained_run(), no_such_option=1)
    assert (usage.id, usage.exit_code) == ("usage/arguments", 2), usage
    assert error_of(s2s.validate, kit.TINY).id == "usage/arguments"
    assert error_of(s2s.generate, "a text", kit.trained_run()).exit_code == 2
    import pickle
    assert pickle.loads(pickle.dumps(missing)).message == missing.message


def test_errors_of_the_package():
    run = kit.trained_run()
    for arguments, options, words in [
            ((numpy.zeros((2, 100)), run), {"sample_rate": 16000}, "audio of shape [2, 100]"),
            ((numpy.zeros(100), run), {}, "sample_rate is None"),
            ((numpy.zeros(100, "int32"), run), {"sample_rate": 8000}, "audio of int32"),
            ((numpy.full(9, numpy.nan), run), {"sample_rate": 8000}, "audio with NaN"),
            ((["a text", kit.recording()], run), {}, "texts and recordings"),
            (("a text", run), {"text": "another"}, "text is for recordings"),
            ((kit.recording(), 5), {}, "a configuration of type int")]:
        refused = error_of(s2s.generate, *arguments, **options)
        assert refused.id == "python/argument" and words in refused.message, refused
    assert error_of(s2s.train, kit.TINY, **{"a.b": object()}).id == "python/argument"
    assert error_of(s2s.Run, kit.SCRATCH / "nowhere").id == "python/run"
    sys.modules["pandas"] = None  # as if it were not installed
    try:
        needed = error_of(lambda: s2s.Run(run).metrics)
    finally:
        sys.modules["pandas"] = pandas
    assert needed.id == "python/package" and "-m pip install pandas" in needed.message, needed
    for named, words in ((str(kit.SCRATCH / "nothing"), "S2S_RUN names"), ("", "no s2s-run in")):
        before = dict(os.environ)
        os.environ.update(S2S_RUN=named, PATH="/nowhere")
        try:
            refused = error_of(s2s.train, kit.TINY)
        finally:
            os.environ.update(before)
        assert refused.id == "python/program" and words in refused.message, refused


def test_overrides_are_yaml():
    from s2s._program import override_words
    words = override_words({
        "a.b": 1, "c": {"d": [1, "x: y"], "e": {}}, "~data.synth": None, "f": None, "g": True,
        "h": pathlib.Path("/tmp/a b"), "i": numpy.float64(0.5), "j": float("inf"), "k": "null",
        "l": numpy.arange(2), "m": 1e-5})
    assert words == [
        "a.b=1", 'c.d=[1, "x: y"]', "c.e={}", "~data.synth", "f=null", "g=true", 'h="/tmp/a b"',
        "i=0.5", "j=.inf", 'k="null"', "l=[0, 1]", "m=1e-05"], words


def test_an_iterator_that_is_closed_ends_the_program():
    training = endless("closed")
    for metrics in training:
        if metrics["step"] == 3:
            break
    training.close()
    assert training.exit_code == 8
    last = training.run.checkpoints[-1].step
    assert last >= 3
    resumed = train("closed", trainer={"max_steps": last + 1, "val_check_interval": 1000000})
    assert [line["step"] for line in resumed] == [last + 1]
    for metrics in endless("dropped"):  # nothing else refers to it
        break
    run = s2s.Run(kit.SCRATCH / "dropped")
    assert run.checkpoints and (run.folder / "checkpoints" / "last").is_symlink()
    with endless("left") as training:
        next(training)
    assert training.exit_code == 8


def test_interrupt_ends_the_program_with_a_checkpoint():
    training = endless("interrupted")
    next(training)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        for _ in training:
            pass
        raise AssertionError("no KeyboardInterrupt")
    except KeyboardInterrupt:
        pass
    assert training._child.process.poll() == 8
    assert s2s.Run(kit.SCRATCH / "interrupted").checkpoints


def test_a_program_that_is_killed_is_an_error():
    training = endless("killed")
    next(training)
    training._child.process.kill()
    error = error_of(list, training)
    assert (error.id, error.exit_code) == ("python/signal", -9), error


def test_the_program_ends_with_python():
    script = f"""
import os, sys
sys.path.insert(0, {str(kit.SOURCE / "apps" / "package")!r})
import s2s
training = s2s.train({str(kit.TINY)!r}, **{{"tiny.data": {str(kit.SCRATCH / "data")!r},
    "tiny.run": sys.argv[1], "trainer.max_steps": 1000000, "trainer.val_check_interval": 1000000}})
next(training)
print(training._child.process.pid, flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
"""
    for how in ("ends", "killed"):
        folder = kit.SCRATCH / f"python-{how}"
        process = subprocess.run([sys.executable, "-c", script, str(folder), how],
                                 capture_output=True, text=True, timeout=120)
        number = int(process.stdout)
        deadline = time.monotonic() + 60
        while os.path.exists(f"/proc/{number}/exe") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not os.path.exists(f"/proc/{number}/exe"), f"the program goes on when Python {how}"
        assert s2s.Run(folder).checkpoints, how


def test_warnings_of_the_program_are_warnings():
    lines = []
    words = {"trainer": {"max_steps": 4}, "model.optimizer.lr": 0.001}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(train("quiet", log=lines.append, **words))
        assert not caught and any("info: " in line for line in lines), lines
        from s2s._program import Child
        child = Child.__new__(Child)
        child._log = None
        child._tell("12:00:00 warning: look out")
        assert [str(one.message) for one in caught] == ["look out"], caught
        assert caught[0].category is s2s.ProgramWarning


if __name__ == "__main__":
    sys.exit(kit.run_tests(dict(globals())))
