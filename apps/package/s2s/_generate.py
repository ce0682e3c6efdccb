"""s2s.generate."""

import dataclasses
import json
import os
import pathlib
import tempfile

from s2s import _audio, _program
from s2s._program import Error, package

_AUDIO_NAMES = (".wav", ".flac", ".ogg", ".opus", ".mp3")


@dataclasses.dataclass
class Answer:
    """What a model answered. In a notebook it shows its text and a player.

    text          its words; None if the model writes none
    audio         float32 [S] in [-1, 1]; None if the model has no voice
    sample_rate   of `audio` in Hz; None without audio
    tokens        int64 [T], of the text: one per frame of a duplex model
    audio_tokens  int64 [T, K], of the codec; None without
    seconds       of the recording, or of the speech made of a text; None for texts
    line          all that the program wrote: the line of answers.jsonl
    """

    text: object
    audio: object
    sample_rate: object
    tokens: object
    audio_tokens: object
    seconds: object
    line: dict

    def __repr__(self):
        sound = "" if self.audio is None else f", {len(self.audio) / self.sample_rate:.2f} s"
        return f"Answer({self.text!r}{sound})"

    @property
    def clip(self):
        """The audio as a Clip, which has `save` and is a player; None without audio."""
        return None if self.audio is None else _audio.Clip(self.audio, self.sample_rate)

    def _repr_html_(self):
        import html
        player = "" if self.audio is None else self.clip._repr_html_()
        return f"<p>{html.escape(self.text or '')}</p>{player}"


def generate(prompt, config=None, *, checkpoint=None, sample_rate=None, text=None, chat=False,
             stream=False, output=None, force=False, log=None, **options):
    """Answers recordings, continues texts, or speaks them, with a trained model.

    prompt       one, or a list of several: a numpy array [S] of floats in [-1, 1] or of int16 with
                 the samples of one channel; a pathlib.Path, or a str that ends with .wav, .flac,
                 .ogg, .opus or .mp3: a recording's file; any other str: a text
    config       a YAML file or a dict; or, without `checkpoint`, the Run, run folder or Checkpoint
                 itself, which has its configuration
    checkpoint   a Run, a run folder or a Checkpoint
    sample_rate  of arrays, in Hz; the program resamples them to the rate of the model
    text         what to do with the recordings, for a model that takes both
    chat         texts are messages of a user, written with the chat template
    stream       feeds the recordings frame by frame; the answer is the same
    output       a folder that keeps answers.jsonl and the WAV files; default: none
    force        replaces the files of `output`
    log          called with each line of the program's log; default: warnings become Python's
    options      those of `s2s-run generate`, such as temperature=0.8, top_k=20, seed=1,
                 max_new_tokens=64, stop=["\\n"]; keys with a dot, and dicts, change the
                 configuration as in `s2s.train`

    Returns an Answer, or a list of them for a list. Each call loads the model: give recordings and
    texts as lists. ^C ends the program.
    Raises Error: those of `s2s-run generate`, python/argument, python/package, python/program.

        answer = s2s.generate(samples, "runs/my", sample_rate=16000)
        answers = s2s.generate(["The capital of", "Once upon"], "runs/text", temperature=0.8)
    """
    prompts = prompt if isinstance(prompt, (list, tuple)) else [prompt]
    if not prompts:
        return []
    overrides = {key: value for key, value in options.items() if _is_override(key, value)}
    words, stdin = _program.config_words(config, overrides)
    words = ["generate", "--json"] + words
    if checkpoint is not None:
        words += ["--checkpoint", os.fspath(checkpoint)]
    words += [name for name, is_set in (("--chat", chat), ("--stream", stream), ("--force", force))
              if is_set]
    for key, value in options.items():
        if key not in overrides:
            words += _option_words(key, value)
    with tempfile.TemporaryDirectory(prefix="s2s-generate-") as folder:
        words += _prompt_words(prompts, text, sample_rate, pathlib.Path(folder))
        place = pathlib.Path(output or os.path.join(folder, "answers"))
        lines = _program.run_lines(words + ["--output", str(place)], stdin, log)
        answers = [_answer(json.loads(line), place) for line in lines if line.startswith("{")]
    return answers if isinstance(prompt, (list, tuple)) else answers[0]


def _is_override(key, value):
    return "." in key or key.startswith("~") or isinstance(value, dict)


def _option_words(key, value):
    name = "--" + key.replace("_", "-")
    if isinstance(value, bool):
        return [name] if value else []
    values = value if isinstance(value, (list, tuple)) else [value]
    return [f"{name}={item}" for item in values]


def _is_text(prompt):
    return isinstance(prompt, str) and not prompt.lower().endswith(_AUDIO_NAMES)


def _prompt_words(prompts, text, sample_rate, folder):
    """Writes arrays to `folder`. All are texts, or all are recordings."""
    are_texts = [_is_text(prompt) for prompt in prompts]
    if all(are_texts):
        if text is not None:
            raise Error("python/argument", "text is for recordings, and the prompts are texts; "
                        "give them as one list")
        return [f"--prompt={prompt}" for prompt in prompts]
    if any(are_texts):
        raise Error("python/argument", "the prompts are texts and recordings; expected one kind: "
                    "for a model that takes both, give the text as text=...")
    files = [_recording(prompt, sample_rate, folder / f"{index:03}.wav")
             for index, prompt in enumerate(prompts)]
    words = [] if text is None else [f"--prompt={text}"]
    return words + ["--input"] + files


def _recording(prompt, sample_rate, file):
    if isinstance(prompt, (str, os.PathLike)):
        return os.path.abspath(prompt)
    _audio.write_array(file, prompt, sample_rate)
    return str(file)


def _answer(line, folder):
    numpy = package("numpy", "generate")
    clip = _audio.read_wave(folder / line["output"]) if line.get("output") else None
    tokens = line.get("text_tokens", line.get("tokens"))
    codes = line.get("audio_tokens")
    return Answer(
        text=line.get("text"),
        audio=None if clip is None else clip.samples,
        sample_rate=None if clip is None else clip.sample_rate,
        tokens=None if tokens is None else numpy.array(tokens, dtype="int64"),
        audio_tokens=numpy.array(codes, dtype="int64") if codes else None,
        seconds=line.get("seconds", line.get("duration")),
        line=line)
