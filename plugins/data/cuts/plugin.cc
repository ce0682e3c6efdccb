#include "s2s/plugin.h"

#include "s2s/data/cut_source.h"

namespace {

using s2s::Component;
using s2s::DataSource;

Component<DataSource> component() {
  return {.name = "cuts",
          .summary = "Lhotse cuts: manifests, Shar directories, NeMo manifests, mixtures of them",
          .create = s2s::open_cut_source,
          .options = s2s::list_cut_source_options};
}

}  // namespace

S2S_PLUGIN("cuts", "0.1.0", "Apache-2.0", "data:cuts") { registrar.add(component()); }
