#pragma once
// Classes of other frameworks whose configurations and checkpoints a model reads and writes.

#include <map>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/foreign_keys.h"
#include "s2s/nn/block.h"

namespace s2s {

class Model;
class Registries;
struct ConfigNotes;

/// A configuration whose keys of another framework become ours. Each change makes a note.
class ConfigTranslation {
 public:
  /// registries: where models are found that read parts of this one; may be null.
  ConfigTranslation(Config& config, Findings& findings, ConfigNotes& notes,
                    const Registries* registries = nullptr)
      : config(config), findings(findings), notes(notes), registries(registries) {}

  /// Moves the keys of the rows kRead, unless ours is written, and removes those of kNoEffect.
  void take(ForeignKeys rows);
  void move(const std::string& theirs, const std::string& ours);
  /// Sets a key at a dotted path, and makes the blocks around it.
  void set(const std::string& path, const Config& value);
  /// Removes a key at a dotted path, if it is there.
  void erase(const std::string& path);
  /// Adds the note that `theirs` is read as `ours`.
  void note_read(const std::string& theirs, const Config& value, const std::string& ours);
  /// Adds the note that the key has no effect.
  void note_no_effect(const std::string& theirs, const Config& value, const std::string& why);
  /// Translates `block`, a configuration of its own with a `model`, below `path` in messages.
  void translate_model(Config& block, const std::string& path);

  Config& config;
  Findings& findings;
  ConfigNotes& notes;
  const Registries* registries;
};

/// What the configuration alone does not say.
struct ForeignExport {
  const Config& config;                               // of a run, with every default
  const Config& llm;                                  // config.json of the language model, or null
  std::string folder;                                 // of the export, an absolute path
  int64_t codec_rate_hz = 0;                          // of the built model; 0: it has no codec
  bool has_token_loss_weight = false;                 // the user wrote the key
  std::map<std::string, std::string> special_tokens;  // NeMo's keys (bos_token): texts
};

/// How surely a key tells a class: the greatest weight that a configuration has decides.
enum class MarkWeight { kShared = 1, kLikely = 2, kOwn = 3 };

/// A class of NeMo that a model reads.
struct ForeignClass {
  /// A key that tells the class.
  struct Mark {
    const char* key;  // of its block `model`
    MarkWeight weight;
  };
  /// Beginnings of names. A checkpoint of the class has one of each of `has` and none of `lacks`.
  struct Tensors {
    std::vector<std::string> has, lacks;
  };

  std::string name;     // "DuplexSTTModel"
  bool is_read = true;  // false: a class that is known and not read
  std::vector<Mark> marks;
  std::vector<Tensors> tensors;  // any of them
  /// A key of `model` whose text the class adds to its tokenizer. May be null.
  const char* added_token = nullptr;
  /// Reads what is of this class alone, after the parts that all have. May be null.
  void (*read)(ConfigTranslation& translation) = nullptr;
  /// The `cfg` of the class. Null: it is not written. Errors: [checkpoint/export].
  Config (*write)(const ForeignExport& exported) = nullptr;
  /// Adds tensors that checkpoints of the class have beside those of `model`. May be null.
  void (*add_tensors)(const ForeignExport& exported, Model& model, TensorMap& tensors) = nullptr;
};

/// [checkpoint/export]: something cannot be exported.
[[noreturn]] void throw_no_export(const std::string& what, const std::string& expected);

}  // namespace s2s
