"""Recordings: numpy arrays and WAV files."""

import base64
import io
import os
import struct
import wave

from s2s._program import Error, package

_FLOAT, _PCM = 3, 1


class Clip:
    """A recording of one channel. In a notebook it is a player.

    samples      float32 [S], in [-1, 1]
    sample_rate  in Hz
    path         of the file it was read from, or None
    """

    def __init__(self, samples, sample_rate, path=None):
        self.samples, self.sample_rate, self.path = samples, sample_rate, path

    @property
    def seconds(self):
        return len(self.samples) / self.sample_rate

    def save(self, path):
        """Writes a WAV file of 16-bit samples."""
        with open(path, "wb") as file:
            file.write(self._wav())

    def _wav(self):
        numpy = package("numpy", "audio")
        whole = numpy.rint(numpy.clip(self.samples, -1, 1) * 32767).astype("<i2")
        file = io.BytesIO()
        with wave.open(file, "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(self.sample_rate)
            out.writeframes(whole.tobytes())
        return file.getvalue()

    def __repr__(self):
        return f"Clip({self.seconds:.2f} s, {self.sample_rate} Hz)"

    def _repr_html_(self):
        data = base64.b64encode(self._wav()).decode()
        return f'<audio controls src="data:audio/wav;base64,{data}"></audio>'


def read_wave(path):
    """The Clip of a WAV file of 16-bit samples, as s2s-run writes them. Raises Error: python/audio.
    """
    numpy = package("numpy", "audio")
    try:
        with wave.open(os.fspath(path), "rb") as file:
            if file.getsampwidth() != 2 or file.getnchannels() != 1:
                raise Error("python/audio", f"{path} has {file.getnchannels()} channels of "
                            f"{8 * file.getsampwidth()} bits; expected one of 16 bits", 5)
            data, rate = file.readframes(file.getnframes()), file.getframerate()
    except (OSError, EOFError, wave.Error) as error:
        raise Error("python/audio", f"{path} cannot be read: {error}; expected a WAV file that "
                    "s2s-run wrote", 5) from None
    return Clip(numpy.frombuffer(data, "<i2").astype("float32") / 32768, rate, os.fspath(path))


def write_array(path, samples, sample_rate):
    """Writes samples [S] of floats in [-1, 1], or of int16, as a WAV file of the same numbers.
    Raises Error: python/argument."""
    numpy = package("numpy", "audio")
    array = numpy.asarray(samples)
    if array.ndim != 1 or array.size == 0:
        raise Error("python/argument", f"audio of shape {list(array.shape)}; expected [S], the "
                    "samples of one channel: take one with audio[:, 0] or audio[0]")
    if sample_rate is None or not int(sample_rate) == sample_rate or sample_rate <= 0:
        raise Error("python/argument", f"sample_rate is {sample_rate}; expected that of the array "
                    "in Hz, such as sample_rate=16000")
    if array.dtype == numpy.int16:
        tag, data = _PCM, array.astype("<i2")
    elif array.dtype.kind == "f":
        tag, data = _FLOAT, array.astype("<f4")
        if not numpy.isfinite(data).all():
            raise Error("python/argument", "audio with NaN or infinity; expected finite samples")
    else:
        raise Error("python/argument", f"audio of {array.dtype}; expected floats in [-1, 1], or "
                    "int16")
    size, rate = data.itemsize, int(sample_rate)
    form = struct.pack("<HHIIHH", tag, 1, rate, rate * size, size, 8 * size)
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + data.nbytes) + b"WAVE"
                   + b"fmt " + struct.pack("<I", len(form)) + form
                   + b"data" + struct.pack("<I", data.nbytes))
        file.write(data.tobytes())
