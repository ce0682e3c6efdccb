// One audio element for each open example; what it plays can change while it plays.

const kChannels = {
  answer: "answer",
  reference: "reference",
  round_trip: "codec round trip",
  user: "user",
};

/** What can be played: single channels, and two at once with the user on the left. */
const kSources = [
  {key: "user+answer", label: "user + answer", parts: ["user", "answer"]},
  {key: "user+reference", label: "user + reference", parts: ["user", "reference"]},
  {key: "answer", label: "answer", parts: ["answer"]},
  {key: "round_trip", label: "codec round trip", parts: ["round_trip"]},
  {key: "reference", label: "reference", parts: ["reference"]},
  {key: "user", label: "user", parts: ["user"]},
];

function bytesOf(dataUri) {
  const text = atob(dataUri.slice(dataUri.indexOf(",") + 1));
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function typeOf(dataUri) {
  return dataUri.slice(5, dataUri.indexOf(";"));
}

const kMixRate = 24000;

async function decoded(dataUri) {
  const context = new OfflineAudioContext(1, 1, kMixRate);
  return (await context.decodeAudioData(bytesOf(dataUri).buffer)).getChannelData(0);
}

/** A 16-bit stereo WAV file of two channels. */
function stereoWav(left, right) {
  const frames = Math.max(left.length, right.length);
  const view = new DataView(new ArrayBuffer(44 + 4 * frames));
  const word = (at, text) => [...text].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  word(0, "RIFF");
  view.setUint32(4, 36 + 4 * frames, true);
  word(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 2, true);
  view.setUint32(24, kMixRate, true);
  view.setUint32(28, 4 * kMixRate, true);
  view.setUint16(32, 4, true);
  view.setUint16(34, 16, true);
  word(36, "data");
  view.setUint32(40, 4 * frames, true);
  const sample = (values, i) =>
      Math.round(32767 * Math.max(-1, Math.min(1, i < values.length ? values[i] : 0)));
  for (let i = 0; i < frames; ++i) {
    view.setInt16(44 + 4 * i, sample(left, i), true);
    view.setInt16(46 + 4 * i, sample(right, i), true);
  }
  return new Blob([view.buffer], {type: "audio/wav"});
}

/** Plays one example. `onTime(seconds)` follows the position. */
class Player {
  constructor(example, media, onTime) {
    this.example = example;
    this.media = media;
    this.onTime = onTime;
    this.urls = new Map();
    this.audio = node("audio", {controls: true, preload: "auto"});
    this.message = node("p", {class: "note", role: "status", hidden: true});
    this.source = null;
    for (const name of ["timeupdate", "seeking", "seeked", "pause", "ended"]) {
      this.audio.addEventListener(name, () => this.onTime(this.audio.currentTime));
    }
    this.audio.addEventListener("play", () => this.started());
    this.audio.addEventListener("error", () => this.failed());
  }

  sources() {
    const known = (part) => this.media ? part in this.media : part in (this.example.files || {});
    return kSources.filter((source) => source.parts.every(known) &&
                                       (this.media || source.parts.length === 1));
  }

  async url(source) {
    if (!this.urls.has(source.key)) {
      if (!this.media) return this.example.files[source.parts[0]];
      const uris = source.parts.map((part) => this.media[part].audio);
      const blob = uris.length === 1
          ? new Blob([bytesOf(uris[0])], {type: typeOf(uris[0])})
          : stereoWav(...await Promise.all(uris.map(decoded)));
      this.urls.set(source.key, URL.createObjectURL(blob));
    }
    return this.urls.get(source.key);
  }

  /** Changes what is played and keeps the position. */
  async choose(key, play) {
    const source = this.sources().find((s) => s.key === key);
    if (!source) return;
    const playing = play || !this.audio.paused;
    const position = this.audio.currentTime || 0;
    this.source = key;
    let url;
    try {
      url = await this.url(source);
    } catch (error) {
      this.failed();
      return;
    }
    if (this.source !== key) return;  // another choice came in between
    this.message.hidden = true;
    this.audio.src = url;
    this.audio.addEventListener("loadedmetadata", () => {
      this.audio.currentTime = Math.min(position, Math.max(0, this.audio.duration - 0.05));
      if (playing) this.play();
    }, {once: true});
  }

  play() {
    if (this.audio.ended) this.audio.currentTime = 0;
    this.audio.play().catch(() => {});  // a refused start leaves the button as it is
  }

  toggle() {
    if (this.audio.paused) this.play();
    else this.audio.pause();
  }

  seek(seconds) {
    const end = Number.isFinite(this.audio.duration) ? this.audio.duration : 0;
    this.audio.currentTime = Math.max(0, Math.min(seconds, end));
  }

  started() {
    for (const other of document.querySelectorAll("audio")) {
      if (other !== this.audio) other.pause();
    }
    const follow = () => {
      this.onTime(this.audio.currentTime);
      if (!this.audio.paused && !this.audio.ended) requestAnimationFrame(follow);
    };
    requestAnimationFrame(follow);
  }

  failed() {
    this.message.textContent = this.media
        ? "This browser cannot play the embedded audio; the wav files lie beside the page."
        : "The wav file is not beside this page.";
    this.message.hidden = false;
  }

  close() {
    this.audio.pause();
    this.urls.forEach((url) => URL.revokeObjectURL(url));
  }
}
