#include "nemo/nemo_class.h"

#include <fmt/format.h>

#include <algorithm>

#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/model.h"

namespace s2s::interop {
namespace {

bool holds(const WeightFiles& files, const std::string& begin) {
  const auto found = files.facts().lower_bound(begin);
  return found != files.facts().end() && found->first.starts_with(begin);
}

bool wrote(const ForeignClass& foreign, const WeightFiles& files) {
  const auto is_there = [&files](const std::string& begin) { return holds(files, begin); };
  return std::any_of(foreign.tensors.begin(), foreign.tensors.end(),
                     [&](const ForeignClass::Tensors& tensors) {
                       return std::all_of(tensors.has.begin(), tensors.has.end(), is_there) &&
                              std::none_of(tensors.lacks.begin(), tensors.lacks.end(), is_there);
                     });
}

}  // namespace

NemoClasses::NemoClasses(const Registries& registries) {
  for (const std::string& type : registries.names<Model>()) {
    try {
      const Component<Model>& model = registries.get<Model>(type);
      if (model.foreign == nullptr) continue;
      for (ForeignClass& foreign : model.foreign()) known_.push_back({type, std::move(foreign)});
    } catch (const Error&) {  // building this model reports the error
    }
  }
}

const KnownClass* NemoClasses::named(const std::string& name) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const KnownClass& known) {
    return known.foreign.name == name;
  });
  return found == known_.end() ? nullptr : &*found;
}

const KnownClass* NemoClasses::of_keys(const Config& model, std::string& key) const {
  const KnownClass* best = nullptr;
  int weight = 0;
  for (const KnownClass& known : known_) {
    for (const ForeignClass::Mark& mark : known.foreign.marks) {
      if (static_cast<int>(mark.weight) <= weight || model.find(mark.key) == nullptr) continue;
      best = &known;
      weight = static_cast<int>(mark.weight);
      key = mark.key;
    }
  }
  return best;
}

const KnownClass* NemoClasses::of_tensors(const WeightFiles& files, const std::string& type) const {
  const KnownClass* first = nullptr;
  for (const KnownClass& known : known_) {
    if (!wrote(known.foreign, files)) continue;
    if (known.type == type) return &known;
    if (first == nullptr) first = &known;
  }
  return first;
}

std::string NemoClasses::readable() const {
  std::string list;
  for (const KnownClass& known : known_) {
    if (!known.foreign.is_read) continue;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", known.foreign.name, known.type);
  }
  return list;
}

const KnownClass* NemoClasses::first_of(const std::string& type) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const KnownClass& known) {
    return known.foreign.is_read && known.type == type;
  });
  return found == known_.end() ? nullptr : &*found;
}

void NemoClasses::throw_class(const std::string& place, const std::string& found,
                              const std::string& model_type, const std::string& next) const {
  const KnownClass* const wanted = first_of(model_type);
  const std::string expected =
      wanted == nullptr ? fmt::format("a checkpoint for model.type: {}", printable(model_type))
                        : fmt::format("a checkpoint of NeMo's {}, because model.type is {}",
                                      wanted->foreign.name, model_type);
  throw Error(ExitCode::kConfig, "checkpoint/class",
              fmt::format("'{}' is a checkpoint of NeMo's {}\n  expected: {}\n  next:     {}",
                          place, printable(found), expected, next));
}

void NemoClasses::throw_no_class(const std::string& place, const std::string& name) const {
  throw Error(ExitCode::kConfig, "config/nemo-class",
              fmt::format("{}: this is a configuration of NeMo's {}, which no model here reads\n"
                          "  expected: one of {}\n"
                          "  next:     write the configuration of one of these",
                          place, printable(name), readable()));
}

void NemoClasses::check(const std::string& place, const WeightFiles& files,
                        const std::string& target, const std::string& model_type) const {
  const std::string name = target.substr(target.rfind('.') + 1);
  const KnownClass* found = of_tensors(files, model_type);
  if (found == nullptr && !name.empty()) {
    found = named(name);
    if (found == nullptr) {
      throw_class(place, name, model_type, "only classes of speechlm2 are imported: " + readable());
    }
  }
  if (found == nullptr || (found->foreign.is_read && found->type == model_type)) return;
  if (!found->foreign.is_read) {
    throw_class(place, found->foreign.name, model_type,
                "no model here reads this class; those that are read: " + readable());
  }
  throw_class(place, found->foreign.name, model_type,
              fmt::format("write model.type: {} with the configuration of that model, or choose "
                          "another checkpoint; its perception alone is read by "
                          "model.pretrained_perception_from_s2s",
                          found->type));
}

ForeignClass written_class(const Registries& registries, const Config& config) {
  const Config& type = *config.find_path("model.type");
  const Component<Model>& model = registries.get<Model>(type.text(), type, "model.type");
  for (const ForeignClass& foreign :
       model.foreign == nullptr ? std::vector<ForeignClass>() : model.foreign()) {
    if (foreign.write != nullptr) return foreign;
  }
  throw_no_export("no class of NeMo speechlm2 reads a model of type " + printable(type.text()),
                  "a model that writes one (s2s-run plugin inspect model:NAME says it)");
}

Config written_config(const ForeignClass& foreign, const ForeignExport& exported) {
  Config out = foreign.write(exported);
  out["model_type"] = Config::scalar("nemo_speechlm", true);
  out["architectures"] =
      Config::list({Config::scalar("NeMoSpeechLMForConditionalGeneration", true)});
  return out;
}

}  // namespace s2s::interop
