#include "controllers/training/framework.h"

namespace yard {

const Framework& framework_of(const TrainingKind& kind) {
  if (kind.kind == "TFJob") return kTensorFlow;
  if (kind.kind == "XGBoostJob") return kXGBoost;
  if (kind.kind == "PaddleJob") return kPaddle;
  if (kind.kind == "JAXJob") return kJax;
  if (kind.kind == "MXJob") return kMxNet;
  if (kind.kind == "MPIJob") return kind.version == "v2beta1" ? kMpiSsh : kMpi;
  return kPyTorch;
}

JsonObject variable(std::string_view name, std::string_view value) {
  // An empty one is left out, as clients write it: a later update would find the pod changed.
  if (value.empty()) return {{"name", name}};
  return {{"name", name}, {"value", value}};
}

JsonObject variable(std::string_view name, int64_t value) {
  return variable(name, std::to_string(value));
}

}  // namespace yard
