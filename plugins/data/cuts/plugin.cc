#include "s2s/plugin.h"

#include "s2s/data/cut_source.h"

namespace {

using s2s::Component;
using s2s::Config;
using s2s::DataContext;
using s2s::DataSource;

std::unique_ptr<DataSource> create(const Config& node, const DataContext& context) {
  s2s::CutSourceContext source;
  source.path = context.path;
  source.base_dir = context.base_dir;
  source.data = context.data;
  source.tokenizer = context.tokenizer;
  source.seed = context.seed;
  source.entropy = context.entropy;
  source.data_rank = context.data_rank;
  source.data_size = context.data_size;
  source.warn = context.warn;
  return s2s::open_cut_source(node, source);
}

Component<DataSource> component() {
  return {.name = "cuts",
          .summary = "Lhotse cuts: manifests, Shar directories, NeMo manifests, mixtures of them",
          .create = create,
          .options = s2s::list_cut_source_options};
}

}  // namespace

S2S_PLUGIN("cuts", "0.1.0", "Apache-2.0", "data:cuts") { registrar.add(component()); }
