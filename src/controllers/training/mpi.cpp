// MPIJob (kubeflow-jobs 4.7, 4.8).

#include "controllers/training/framework.h"

namespace yard {

const Framework kMpi{.has_services = false};
const Framework kMpiSsh{.has_services = false};

}  // namespace yard
