// What pods and nodes use: read from the machine when it is asked for, never stored.

#include "api/kinds.h"

namespace yard {
namespace {

Kind usage_kind(const KindNames& names, bool namespaced) {
  Kind row = ordinary_kind(names);
  row.verbs = {"get", "list"};
  row.namespaced = namespaced;
  row.storage.clear();
  return row;
}

}  // namespace

Kind node_metrics_kind() {
  return usage_kind({"metrics.k8s.io", "v1beta1", "NodeMetrics", "nodes"}, false);
}

Kind pod_metrics_kind() {
  return usage_kind({"metrics.k8s.io", "v1beta1", "PodMetrics", "pods"}, true);
}

}  // namespace yard
