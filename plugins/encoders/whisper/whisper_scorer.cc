#include "whisper_scorer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"
#include "s2s/scores/transcripts.h"

namespace s2s::whisper {

WhisperScorer::WhisperScorer(Parts parts) : parts_(std::move(parts)), decoder_(parts_.decoder) {
  register_block("", *parts_.encoder);
  register_block("decoder", decoder_);
}

WhisperScorer::~WhisperScorer() = default;

NameMap WhisperScorer::checkpoint_names() const {
  NameMap names = parts_.encoder->checkpoint_names();
  names.rules.push_back({"decoder.**", "model.decoder.**"});
  names.other_spellings.push_back({"decoder.**", "decoder.**"});
  names.ignored = {"proj_out.**"};  // the embedding
  return names;
}

std::unique_ptr<WeightSource> WhisperScorer::initial_values() {
  if (parts_.weights_path.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(parts_.weights_path));
}

WhisperScorer::Clip WhisperScorer::clip_of(const at::Tensor& samples_S) const {
  const WhisperOptions& options = parts_.encoder->options();
  const int64_t size = samples_S.numel(), window = options.window_frames();
  Clip clip;
  clip.samples_S = samples_S;
  clip.mel_frames = size <= options.window_samples() ? window : size / options.hop_length;
  clip.audio_frames = std::min(parts_.encoder->features().frames(size), clip.mel_frames);
  clip.with_timestamps = clip.mel_frames > window || parts_.generation.return_timestamps;
  const GenerationConfig& generation = parts_.generation;
  clip.prompt = generation.prompt(clip.with_timestamps);
  clip.length_limit = generation.max_length;
  clip.is_conditioned = generation.condition_on_prev_tokens;
  if (generation.condition_on_prev_tokens && !generation.prompts_all_segments) {
    clip.written = generation.prompt_ids;
    clip.has_written = !clip.written.empty();
    const bool is_named = clip.has_written && clip.written.front() == generation.prev_sot_token_id;
    if (is_named) clip.written.erase(clip.written.begin());
  }
  clip.random = at::detail::createCPUGenerator(static_cast<uint64_t>(generation.sampling.seed));
  return clip;
}

std::optional<double> WhisperScorer::Clip::confidence() const {
  if (num_probabilities == 0) return std::nullopt;
  return std::exp(sum_log_probability / num_probabilities);
}

/// A short clip is padded to a window first; the loudest frame of all counts. [F, M].
at::Tensor WhisperScorer::features_of(const Clip& clip) {
  const WhisperFeatures& features = parts_.encoder->features();
  const int64_t size = clip.samples_S.numel(), window = parts_.encoder->options().window_frames();
  const at::Device device = named_buffers().front().tensor->device();
  const at::Tensor audio_1S = clip.samples_S.unsqueeze(0).to(device);
  const at::Tensor length_1 = at::tensor({size}, at::kLong).to(device);
  const bool is_short = size <= parts_.encoder->options().window_samples();
  return (is_short ? features.windows(audio_1S, length_1, window) : features(audio_1S, length_1))
      .squeeze(0);
}

at::Tensor WhisperScorer::next_window(Clip& clip) {
  if (!clip.mel_FM.defined()) clip.mel_FM = features_of(clip);
  const int64_t window = parts_.encoder->options().window_frames();
  const at::Tensor mel_FM = clip.mel_FM.slice(1, clip.next, clip.next + window);
  return at::constant_pad_nd(mel_FM, {0, window - mel_FM.size(1)});
}

std::vector<int64_t> WhisperScorer::earlier_of(const Clip& clip) const {
  const bool is_conditioned = clip.is_conditioned && clip.has_written;
  return parts_.generation.earlier(is_conditioned ? &clip.written : nullptr);
}

WindowTask WhisperScorer::next_task(Clip& clip) const {
  WindowTask task;
  task.prompt = earlier_of(clip);
  task.num_earlier = task.prompt.size();
  task.prompt.insert(task.prompt.end(), clip.prompt.begin(), clip.prompt.end());
  task.limit = parts_.generation.limit(clip.length_limit, static_cast<int64_t>(task.prompt.size()));
  task.random = clip.random;
  return task;
}

void WhisperScorer::recognize(std::vector<Clip>& clips, bool with_times) {
  // Prompts of one length go side by side.
  for (const bool with_timestamps : {false, true}) {
    while (true) {
      std::vector<Clip*> chosen;
      size_t num_earlier = 0;
      for (Clip& clip : clips) {
        if (!clip.is_open() || clip.with_timestamps != with_timestamps) continue;
        if (static_cast<int64_t>(chosen.size()) == parts_.batch_size) break;
        const size_t count = earlier_of(clip).size();
        if (chosen.empty()) num_earlier = count;
        if (count == num_earlier) chosen.push_back(&clip);
      }
      if (chosen.empty()) break;
      recognize_windows(chosen, with_times);
    }
  }
}

/// Of clips whose language is not known yet: that of their first window.
void WhisperScorer::detect(const std::vector<Clip*>& clips, const at::Tensor& frames_BTH) {
  const auto is_open = [](const Clip* clip) {
    return clip->prompt.size() > 1 && clip->prompt[1] == -1;
  };
  if (std::none_of(clips.begin(), clips.end(), is_open)) return;
  const std::vector<int64_t> found = detect_languages(decoder_, frames_BTH, parts_.generation);
  for (size_t i = 0; i < clips.size(); ++i) {
    if (is_open(clips[i])) clips[i]->prompt[1] = found[i];
  }
}

void WhisperScorer::recognize_windows(const std::vector<Clip*>& clips, bool with_times) {
  const GenerationConfig& generation = parts_.generation;
  std::vector<at::Tensor> windows;
  for (Clip* clip : clips) windows.push_back(next_window(*clip));
  const at::Tensor frames_BTH = parts_.encoder->encode(at::stack(windows));
  detect(clips, frames_BTH);
  std::vector<WindowTask> tasks;
  for (Clip* clip : clips) tasks.push_back(next_task(*clip));
  const bool aligns = with_times && !generation.alignment_heads.empty();
  const std::vector<WindowText> texts = write_with_fallback(
      decoder_, frames_BTH, tasks, {generation, clips.front()->with_timestamps, aligns});
  for (size_t i = 0; i < clips.size(); ++i) add_window(texts[i], *clips[i]);
}

/// Adds the segments of the clip's next window, and goes on.
void WhisperScorer::add_window(const WindowText& text, Clip& clip) {
  const double frame_s = 1 / parts_.encoder->frame_rate_hz();
  const int64_t window = parts_.encoder->options().window_frames();
  const int64_t length = std::min(clip.mel_frames - clip.next, window);
  const WindowSegments found =
      text.is_silent ? WindowSegments{{}, length}
                     : window_segments(text.ids, parts_.generation, {clip.next, length, frame_s});
  const std::vector<double> times =
      id_times(text.weights_AUT, text.ids.size(), clip.audio_frames - clip.next,
               parts_.generation.median_filter_width, frame_s);
  const double begin_s = static_cast<double>(clip.next) * frame_s / 2;
  for (const Segment& segment : found.segments) {
    const size_t first = clip.ids.size();
    for (size_t k = segment.begin; k < segment.end; ++k) {
      clip.ids.push_back(text.ids[k]);
      clip.times.push_back(begin_s + times[k]);
      clip.begins.push_back(begin_s);
      clip.probabilities.push_back(std::exp(text.log_probabilities[k]));
    }
    clip.segments.push_back({segment.start_s, segment.end_s, first, clip.ids.size()});
    // Of two timestamps at its end, the next window reads one.
    const size_t size = segment.end - segment.begin;
    const bool is_doubled = size > 2 && parts_.generation.is_timestamp(text.ids[segment.end - 2]);
    clip.written.insert(clip.written.end(), clip.ids.begin() + static_cast<std::ptrdiff_t>(first),
                        clip.ids.end() - (is_doubled ? 1 : 0));
    clip.has_written = true;
  }
  if (!text.is_silent) {
    clip.sum_log_probability += text.sum_log_probability();
    clip.num_probabilities += static_cast<double>(text.log_probabilities.size());
  }
  clip.is_conditioned = parts_.generation.condition_on_prev_tokens && text.temperature < 0.5;
  // A model that writes timestamps unasked may stay where it is for ever.
  clip.next += found.advance > 0 ? found.advance : length;
  if (!clip.is_open()) clip.mel_FM.reset();
}

std::string WhisperScorer::text_of(const std::vector<int64_t>& ids) const {
  if (!parts_.tokenizer) return "";
  std::vector<int64_t> texts;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(texts),
               [&](int64_t id) { return !parts_.generation.is_timestamp(id); });
  const std::string text = parts_.tokenizer->decode(texts);
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<RecognizedWord> WhisperScorer::words_of(const Clip& clip) const {
  std::vector<TimedLabel> labels;
  for (size_t i = 0; i < clip.ids.size(); ++i) {
    if (parts_.generation.is_timestamp(clip.ids[i])) continue;
    const double before_s = i == 0 ? 0 : std::max(clip.times[i - 1], clip.begins[i]);
    labels.push_back({clip.ids[i], before_s, clip.times[i], clip.probabilities[i]});
  }
  return words_of_labels(labels, [this](const auto& ids) { return text_of(ids); });
}

std::vector<std::string> WhisperScorer::transcribe(const std::vector<AudioClip>& clips) {
  std::vector<std::string> texts;
  for (Transcript& transcript : transcripts(clips, /*with_times=*/false)) {
    texts.push_back(std::move(transcript.text));
  }
  return texts;
}

std::vector<Transcript> WhisperScorer::transcripts(const std::vector<AudioClip>& clips) {
  return transcripts(clips, !parts_.generation.alignment_heads.empty());
}

std::vector<Transcript> WhisperScorer::transcripts(const std::vector<AudioClip>& clips,
                                                   bool with_times) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> heard = heard_samples(clips, parts_.encoder->sample_rate_hz());
  std::vector<Clip> spoken;
  std::vector<size_t> places;
  for (size_t i = 0; i < clips.size(); ++i) {
    if (!heard[i].defined()) continue;
    spoken.push_back(clip_of(heard[i]));
    places.push_back(i);
  }
  recognize(spoken, with_times);
  std::vector<Transcript> found(clips.size());
  for (size_t i = 0; i < spoken.size(); ++i) {
    found[places[i]].text = text_of(spoken[i].ids);
    found[places[i]].confidence = spoken[i].confidence();
    if (with_times) found[places[i]].words = words_of(spoken[i]);
  }
  return found;
}

namespace {

/// Rows of different lengths, with -1 after each.
at::Tensor padded_rows(std::vector<at::Tensor> rows) {
  int64_t width = 0;
  for (const at::Tensor& row : rows) width = std::max(width, row.size(0));
  for (at::Tensor& row : rows) {
    std::vector<int64_t> more(static_cast<size_t>(2 * row.dim()), 0);
    more.back() = width - row.size(0);
    row = at::constant_pad_nd(row, more, -1);
  }
  return at::stack(rows);
}

}  // namespace

std::map<std::string, at::Tensor> WhisperScorer::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::NoGradGuard no_grad;
  const std::string prefix = "weights/";
  TensorMap weights;
  for (const auto& [name, tensor] : inputs) {
    if (name.starts_with(prefix)) weights[name.substr(prefix.size())] = tensor;
  }
  load_weights(*this, checkpoint_names(), weights, "the reference file");
  const at::Tensor audio_BS = inputs.at("audio");
  const std::vector<int64_t> lengths = to_vector(inputs.at("lengths"));
  std::vector<Clip> clips;
  std::vector<at::Tensor> windows;
  for (int64_t b = 0; b < audio_BS.size(0); ++b) {
    clips.push_back(clip_of(audio_BS[b].narrow(0, 0, lengths[static_cast<size_t>(b)])));
    windows.push_back(next_window(clips.back()));
  }
  TensorMap outputs;
  const at::Tensor frames_BTH = parts_.encoder->encode(at::stack(windows));
  outputs["features"] = frames_BTH;
  outputs["lengths"] = at::full({frames_BTH.size(0)}, frames_BTH.size(1), at::kLong);
  if (inputs.contains("labels")) {
    DecoderMemory memory = decoder_.listen(frames_BTH);
    outputs["logits"] = decoder_.next_scores(inputs.at("labels"), memory);
  }
  recognize(clips, /*with_times=*/true);
  std::map<std::string, std::vector<at::Tensor>> rows;
  std::vector<int64_t> counts;
  std::vector<double> confidences;
  for (const Clip& clip : clips) {
    rows["prompt"].push_back(at::tensor(clip.prompt, at::kLong));
    rows["ids"].push_back(at::tensor(clip.ids, at::kLong));
    rows["id_times"].push_back(at::tensor(clip.times, at::kDouble).to(at::kFloat));
    rows["id_probabilities"].push_back(at::tensor(clip.probabilities, at::kDouble).to(at::kFloat));
    confidences.push_back(clip.confidence().value_or(-1));
    std::vector<double> spans;
    for (const Segment& one : clip.segments) spans.insert(spans.end(), {one.start_s, one.end_s});
    rows["segments"].push_back(at::tensor(spans, at::kDouble).to(at::kFloat).view({-1, 2}));
    counts.push_back(static_cast<int64_t>(clip.ids.size()));
  }
  for (auto& [name, one] : rows) outputs[name] = padded_rows(one);
  outputs["id_lengths"] = at::tensor(counts, at::kLong);
  outputs["confidence"] = at::tensor(confidences, at::kDouble).to(at::kFloat);
  return outputs;
}

}  // namespace s2s::whisper
