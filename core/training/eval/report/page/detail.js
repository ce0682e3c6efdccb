// One example, opened.

/** A text against the reference, word by word. */
function differences(edits) {
  if (!edits.length) return [node("em", {class: "nothing"}, "nothing")];
  return edits.map(([kind, reference, hypothesis]) => {
    if (kind === "=") return node("span", {}, reference + " ");
    const parts = [];
    if (kind !== "i") parts.push(node("del", {title: "missing or replaced"}, reference));
    if (kind !== "d") parts.push(node("ins", {title: "not in the reference"}, hypothesis));
    return node("span", {class: "edit " + kind}, parts, " ");
  });
}

const kTextRows = [
  ["text_channel", "text channel"],
  ["model", "heard: answer"],
  ["round_trip", "heard: codec round trip"],
  ["reference", "heard: reference"],
];

function transcripts(example) {
  const rows = kTextRows.filter(([key]) => key in example.texts).map(([key, label]) => {
    const text = example.texts[key];
    return node("tr", {}, node("th", {scope: "row"}, label),
                node("td", {title: "as it came: " + text.raw}, differences(text.edits)),
                node("td", {class: "number", "data-label": "WER"}, written(text.wer, "%")),
                node("td", {class: "number", "data-label": "BLEU"}, written(text.bleu, "")));
  });
  return node("table", {class: "transcripts"},
      node("caption", {}, "Against the reference, normalised: ", node("del", {}, "missing"), " ",
           node("ins", {}, "not in the reference")),
      node("thead", {}, node("tr", {}, node("th", {scope: "col"}, "source"),
                             node("th", {scope: "col"}, "words"),
                             node("th", {scope: "col", class: "number"}, "WER"),
                             node("th", {scope: "col", class: "number"}, "BLEU"))),
      node("tbody", {}, node("tr", {}, node("th", {scope: "row"}, "reference"),
                             node("td", {}, example.reference || node("em", {}, "nothing")),
                             node("td", {}), node("td", {})), rows));
}

function numbersList(example) {
  const entries = Object.entries(example.numbers || {});
  const answers = (example.answers || []).map(([, latency]) => written(latency, "s"));
  const stops = (example.stops || []).map(([, length]) => written(length, "s"));
  if (answers.length) entries.unshift(["latency", answers.join(", ")]);
  if (stops.length) entries.unshift(["time to stop", stops.join(", ")]);
  if (!entries.length) return null;
  return node("dl", {class: "facts small"}, entries.map(([name, value]) => node("div", {},
      node("dt", {}, name), node("dd", {}, typeof value === "number" ? compact(value) : value))));
}

function userText(example) {
  const turns = example.turns.filter((turn) => !turn.agent && turn.text);
  if (!turns.length) return null;
  return node("p", {class: "user-text"}, node("b", {}, "User: "),
              turns.map((turn) => turn.text).join(" \u2026 "));
}

/** Buttons that choose what is played. */
function sourceChooser(player, name) {
  const inputs = player.sources().map((source) => {
    const input = node("input", {type: "radio", name: "source-" + name, value: source.key,
                                 onchange: () => player.choose(source.key, false)});
    return node("label", {}, input, node("span", {}, source.label));
  });
  return node("fieldset", {class: "sources"}, node("legend", {}, "Listen to"), inputs);
}

function zoomChooser(stage) {
  const select = node("select", {onchange: () => stage.zoom(Number(select.value))},
                      [1, 2, 4, 8].map((factor) => node("option", {value: factor},
                          factor === 1 ? "fit" : factor + "\u00D7")));
  return node("label", {class: "zoom"}, "Zoom ", select);
}

function stageKeys(event, player) {
  const step = event.shiftKey ? 1 : 0.08;
  const actions = {
    " ": () => player.toggle(),
    ArrowLeft: () => player.seek(player.audio.currentTime - step),
    ArrowRight: () => player.seek(player.audio.currentTime + step),
    Home: () => player.seek(0),
  };
  if (event.target !== event.currentTarget || !actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

/** The opened example: {element, ready(), close()}. */
function detail(example, index, data) {
  const media = embeddedJson("media-" + index);
  const stage = new Stage(example, media, data.frame_s);
  const player = new Player(example, media, (seconds) => stage.setTime(seconds));
  const chooser = sourceChooser(player, index);
  const choose = (key, play) => {
    const input = chooser.querySelector('input[value="' + key + '"]');
    if (!input) return;
    input.checked = true;
    player.choose(key, play);
  };
  stage.onSeek = (seconds) => player.seek(seconds);
  stage.onListen = (channel) => choose(channel, true);
  stage.element.addEventListener("keydown", (event) => stageKeys(event, player));
  const sources = player.sources();
  const note = media || !sources.length ? null : node("p", {class: "note"},
      "Heard from the wav files beside this page; the audio of this example is not in it.");
  const element = node("div", {class: "detail"}, userText(example),
      sources.length ? node("div", {class: "player"}, chooser, player.audio, zoomChooser(stage))
                     : null,
      player.message, note, stage.element,
      node("p", {class: "keys"}, "Click a place to go there. Keys on the picture: space plays, ",
           "arrows move by a frame, with shift by a second. Outlines: planned turns; bars: speech ",
           "that was heard."),
      transcripts(example), numbersList(example));
  const resized = new ResizeObserver(() => stage.layOut());
  return {
    element,
    ready() {
      resized.observe(stage.inner);
      stage.layOut();
      if (sources.length) choose(sources[0].key, false);
    },
    close() {
      resized.disconnect();
      player.close();
    },
  };
}
