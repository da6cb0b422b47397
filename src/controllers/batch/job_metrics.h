#pragma once
// What /metrics says about Jobs, under the names dashboards for them know. It counts what happens
// to the objects, so the Job controller has no part in it. Loop thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/client.h"

namespace yard {

class JobMetrics {
 public:
  explicit JobMetrics(Client& client);
  ~JobMetrics();
  JobMetrics(const JobMetrics&) = delete;
  JobMetrics& operator=(const JobMetrics&) = delete;
  std::string text() const;  // Prometheus 0.0.4

 private:
  void hear_job(const ObjectEvent& event);
  void hear_pod(const ObjectEvent& event);

  Client& client_;
  // By labels as they are written; their values are few and fixed.
  std::map<std::string, uint64_t> jobs_finished_, pods_finished_, pods_created_;
  std::vector<Client::Subscription> subscriptions_;
};

}  // namespace yard
