#include "s2s/plugin.h"

#include "csv_logger.h"
#include "mlflow_logger.h"
#include "tensorboard_logger.h"
#include "wandb_logger.h"

namespace s2s::trackers {
namespace {

template <class Logger, class Options>
Component<RunLogger> component(const char* name, const char* summary) {
  return {.name = name,
          .summary = summary,
          .create = [](const Config& config,
                       const BuildContext& context) -> std::unique_ptr<RunLogger> {
            return std::make_unique<Logger>(read_options<Options>(config, context.path));
          },
          .options = list_options<Options>};
}

}  // namespace
}  // namespace s2s::trackers

S2S_PLUGIN("trackers", "0.1.0", "Apache-2.0",
           "logger:tensorboard\nlogger:wandb\nlogger:mlflow\nlogger:csv") {
  using namespace s2s::trackers;
  registrar.add(component<TensorboardLogger, TensorboardOptions>("tensorboard",
                                                                 "event files for TensorBoard"));
  registrar.add(component<WandbLogger, WandbOptions>(
      "wandb", "offline runs of Weights & Biases, for wandb sync"));
  registrar.add(component<MlflowLogger, MlflowOptions>("mlflow", "runs in MLflow's file store"));
  registrar.add(
      component<CsvLogger, CsvOptions>("csv", "metrics.csv, as Lightning's CSVLogger writes it"));
}
