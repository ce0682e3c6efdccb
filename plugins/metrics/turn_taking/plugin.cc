#include "s2s/plugin.h"

#include "components.h"

S2S_PLUGIN("turn_taking", "0.1.0", "Apache-2.0",
           "metric:turn_taking\nmetric:full_duplex_bench\nmetric:voicebench") {
  registrar.add(s2s::turn_taking::turn_taking());
  registrar.add(s2s::turn_taking::full_duplex_bench());
  registrar.add(s2s::turn_taking::voicebench());
}
