#pragma once
// When an image is pulled, how long after a failure it is tried again, and what is said of it, in
// kubelet's words. Pure.

#include <string>
#include <string_view>

#include "base/time.h"
#include "images/stored_image.h"

namespace yard {

struct PullFacts {
  std::string_view policy;  // Always, IfNotPresent, Never
  bool is_present = false;
  ImageOrigin origin = ImageOrigin::Loaded;  // of what is present
  std::string_view id;                       // and its id
  std::string_view local_id;  // of what podman or docker have on this machine; "": nothing
  bool asks_registry = false;
  bool is_done = false;  // for this very start of the container
};
// Who is asked for the image, the stores of this machine first; neither: it is taken as it is.
struct PullNeed {
  bool from_stores = false, from_registry = false;
  bool operator==(const PullNeed&) const = default;
};
PullNeed pull_need(const PullFacts& facts);

// 10 s, doubled with every failure, 5 min at most.
Duration pull_back_off(int failures);

// `1.234s`, as Go writes lengths of time, to the millisecond.
std::string go_duration(Duration length);
struct PullTimes {
  Duration took{}, with_waiting{};
};
std::string already_present(std::string_view image);
std::string pull_success(std::string_view image, const PullTimes& times, std::int64_t bytes);
std::string pull_back_off_message(std::string_view image, std::string_view problem);

}  // namespace yard
