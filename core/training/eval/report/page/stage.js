// Everything of one example on one time axis: who speaks, spectrograms, text tokens, the play head.

const kManyRows = 5;  // of token labels: more than this, and words are better than pieces
const kMostRows = 8;

class Stage {
  constructor(example, media, frameSeconds) {
    this.example = example;
    this.media = media || {};
    this.frame = frameSeconds;
    this.duration = Math.max(example.duration, 0.1);
    this.onSeek = () => {};
    this.onListen = () => {};
    this.head = node("div", {class: "playhead", "aria-hidden": "true"});
    this.tokenLanes = [];
    this.inner = node("div", {class: "stage-inner"}, this.axis(), this.speechLanes(),
                      this.channelLanes(), this.head);
    this.element = node("div", {class: "stage", tabindex: "0", role: "slider",
                                "aria-label": "position in the dialogue",
                                "aria-valuemin": "0",
                                "aria-valuemax": this.duration.toFixed(1)}, this.inner);
    this.element.addEventListener("click", (event) => this.clicked(event));
    this.setTime(0);
  }

  share(seconds) {
    return 100 * seconds / this.duration + "%";
  }

  lane(label, kind, ...content) {
    return node("div", {class: "lane " + kind}, node("div", {class: "lane-label"}, label),
                node("div", {class: "lane-track"}, content));
  }

  /** A stretch of time as a box. */
  box(kind, start, end, attributes, ...content) {
    const element = node("div", {class: kind, ...attributes}, content);
    element.style.left = this.share(start);
    element.style.width = this.share(Math.max(0, end - start));
    return element;
  }

  axis() {
    const step = niceStep(this.duration, 8);
    const marks = [];
    for (let t = 0; t < this.duration - step * 0.3; t += step) {
      const mark = node("span", {class: "tick"}, compact(t) + (t === 0 ? "\u202fs" : ""));
      mark.style.left = this.share(t);
      marks.push(mark);
    }
    return this.lane("", "axis-lane", marks);
  }

  overlaps() {
    const out = [];
    for (const [a, b] of this.example.speech.user || []) {
      for (const [c, d] of this.example.speech.answer || []) {
        if (Math.min(b, d) > Math.max(a, c)) out.push([Math.max(a, c), Math.min(b, d)]);
      }
    }
    return out.map(([a, b]) => this.box("overlap", a, b, {title: "both speak"}));
  }

  planned(agent) {
    return this.example.turns.filter((turn) => turn.agent === agent).map((turn) =>
        this.box("planned", turn.start, turn.end,
                 {title: "planned " + turn.start.toFixed(2) + "\u2013" + turn.end.toFixed(2) +
                         " s: " + turn.text}, node("span", {}, turn.text)));
  }

  heard(channel) {
    return (this.example.speech[channel] || []).map(([start, end]) =>
        this.box("heard", start, end, {title: kChannels[channel] + " speaks " + start.toFixed(2) +
                                              "\u2013" + end.toFixed(2) + " s"}));
  }

  /** How long the agent took to begin, and to stop. */
  reactions() {
    const answers = (this.example.answers || []).map(([onset, latency]) =>
        this.box("reaction" + (latency < 0 ? " early" : ""), Math.min(onset, onset - latency),
                 Math.max(onset, onset - latency), {title: "latency of the answer"},
                 node("span", {}, written(latency, "s"))));
    const stops = (this.example.stops || []).map(([start, length]) =>
        this.box("reaction stop", start, start + length, {title: "from interruption to silence"},
                 node("span", {}, written(length, "s"))));
    return answers.concat(stops);
  }

  speechLanes() {
    const lanes = [this.lane("user", "speech user", this.planned(false), this.heard("user"),
                             this.overlaps())];
    const agentHeard = this.example.speech.answer ? this.heard("answer") : [];
    lanes.push(this.lane("agent", "speech answer", this.planned(true), agentHeard, this.overlaps(),
                         this.reactions()));
    return lanes;
  }

  listenButton(channel) {
    const text = kChannels[channel];
    return node("button", {type: "button", class: "listen", "aria-label": "listen to: " + text,
                           onclick: (event) => {
                             event.stopPropagation();
                             this.onListen(channel);
                           }}, "\u25B6 " + text);
  }

  picture(channel) {
    const media = this.media[channel];
    if (!media) return [];
    const image = node("img", {src: media.picture, alt: "spectrogram of: " + kChannels[channel],
                               draggable: "false", decoding: "async"});
    image.style.width = this.share(media.seconds);
    return [this.lane(this.listenButton(channel), "picture " + channel, image)];
  }

  tokens(channel, label) {
    const tokens = (this.example.tokens || {})[channel] || [];
    if (!tokens.length) return [];
    const marks = tokens.map(([frame, kind, piece]) => {
      const text = kind === "text" ? piece : kind;
      const label = node("b", {});
      const title = "frame " + frame + ", " + (frame * this.frame).toFixed(2) + " s: " + text;
      const element = node("span", {class: "token " + kind, title}, node("i", {}), label);
      element.style.left = this.share((frame + 0.5) * this.frame);
      return {frame, kind, text, element, label};
    });
    const lane = this.lane(label, "tokens " + channel, marks.map((mark) => mark.element));
    this.tokenLanes.push({lane, marks});
    return [lane];
  }

  channelLanes() {
    return [this.picture("user"), this.picture("answer"),
            this.tokens("answer", "text channel"), this.picture("round_trip"),
            this.picture("reference"), this.tokens("reference", "reference text")];
  }

  /** Labels of a lane as [marks they stand for]: single tokens, or whole words. */
  groups(marks, whole) {
    const spaced = marks.some((mark) => mark.text.startsWith(" "));
    const out = [];
    for (const mark of marks) {
      const last = out.length ? out[out.length - 1] : [];
      const before = last[last.length - 1];
      const joins = whole && spaced && before && before.kind === "text" && mark.kind === "text" &&
                    !mark.text.startsWith(" ") && mark.frame === before.frame + 1;
      if (joins) last.push(mark);
      else out.push([mark]);
    }
    return out;
  }

  /** Rows that keep the labels from covering each other; labels beyond the last row are hidden. */
  place(groups, width) {
    const ends = [];
    for (const group of groups) {
      group.forEach((mark, i) => {
        mark.label.hidden = false;  // what is hidden has no width
        mark.label.textContent = i === 0 ? group.map((m) => m.text).join("") : "";
      });
      const mark = group[0];
      const left = width * (mark.frame + 0.5) * this.frame / this.duration;
      const size = mark.label.offsetWidth + 5;
      const start = Math.min(left, Math.max(0, width - size));
      let row = ends.findIndex((end) => end <= start);
      if (row < 0) row = ends.length;
      mark.label.hidden = row >= kMostRows;
      if (row < kMostRows) ends[row] = start + size;
      for (const each of group) each.element.style.setProperty("--row", each === mark ? row : 0);
      mark.element.style.setProperty("--shift", start - left + "px");
    }
    return {rows: ends.length, whole: groups.every((group) => !group[0].label.hidden)};
  }

  /** Every token by itself where there is room, else words. */
  layOut() {
    for (const {lane, marks} of this.tokenLanes) {
      const width = lane.querySelector(".lane-track").clientWidth;
      let placed = this.place(this.groups(marks, false), width);
      if (!placed.whole || placed.rows > kManyRows) {
        placed = this.place(this.groups(marks, true), width);
      }
      lane.style.setProperty("--rows", Math.max(1, placed.rows));
    }
  }

  zoom(factor) {
    this.inner.style.width = 100 * factor + "%";
    this.layOut();
  }

  clicked(event) {
    const track = this.inner.querySelector(".lane-track").getBoundingClientRect();
    const share = (event.clientX - track.left) / track.width;
    if (share >= 0 && share <= 1) this.onSeek(share * this.duration);
  }

  setTime(seconds) {
    const share = Math.max(0, Math.min(1, seconds / this.duration));
    this.inner.style.setProperty("--at", share);
    this.element.setAttribute("aria-valuenow", seconds.toFixed(2));
    this.element.setAttribute("aria-valuetext", clock(seconds));
    const frame = Math.floor(seconds / this.frame);
    for (const {marks} of this.tokenLanes) {
      for (const mark of marks) {
        mark.element.classList.toggle("now", seconds > 0 && mark.frame === frame);
      }
    }
  }
}
