#pragma once
// The requests of the load as HTTP/1.1 text, and the Job they are about.

#include <cstdint>
#include <string>
#include <string_view>

#include "load/target.h"

namespace yard::bench {

// A Job of the size people write: about 4 kB as both servers store it, owned by no controller and
// suspended, so that what is measured is the API and nothing runs.
std::string job_text(std::string_view ns, std::string_view name);
std::string job_name(std::string_view prefix, uint64_t number);

class Requests {
 public:
  Requests(const Target& target, std::string ns);

  std::string create(std::string_view name) const;
  // Of any kind: `body` with NAME replaced, sent to `path`.
  std::string create_from(std::string_view path, std::string body, std::string_view name) const;
  std::string get(std::string_view name) const;
  std::string remove(std::string_view name) const;
  std::string label(std::string_view name, std::string_view value) const;     // merge patch
  std::string annotate(std::string_view name, std::string_view value) const;  // merge patch
  std::string list(std::string_view accept) const;
  std::string watch(std::string_view revision) const;
  std::string ready() const;

 private:
  std::string text(std::string_view method, std::string_view path, std::string_view headers,
                   std::string_view body) const;
  std::string patch(std::string_view name, std::string_view body) const;

  std::string host_;
  std::string ns_;
  std::string jobs_;
};

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";
// The annotation a watch event's time of sending travels in.
inline constexpr std::string_view kSentAnnotation = "bench.trainyard.dev/sent";

}  // namespace yard::bench
