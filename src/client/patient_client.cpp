#include "client/patient_client.h"

#include <utility>

namespace yard {
namespace {

// So many other writes within this time are much to do.
constexpr size_t kMany = 64;
constexpr Duration kWithin = std::chrono::milliseconds(100);
constexpr Duration kPause = std::chrono::milliseconds(20);
constexpr size_t kGroup = 16;  // written before others are looked for again
constexpr size_t kMostWaiting = 20'000;
constexpr Duration kLongestWait = std::chrono::seconds(5);

}  // namespace

PatientClient::PatientClient(Loop& loop, Client& client) : loop_(loop), client_(client) {}

ObjectPtr PatientClient::get(const Resource& resource, std::string_view ns,
                             std::string_view name) const {
  return client_.get(resource, ns, name);
}
std::vector<ObjectPtr> PatientClient::list(const Resource& resource, std::string_view ns) const {
  return client_.list(resource, ns);
}
SharedJson PatientClient::tree(const ObjectPtr& object) const {
  return client_.tree(object);
}
std::vector<Client::Dependent> PatientClient::dependents(std::string_view owner_uid) const {
  return client_.dependents(owner_uid);
}
std::vector<Resource> PatientClient::resources(bool only_namespaced) const {
  return client_.resources(only_namespaced);
}
std::optional<Client::Served> PatientClient::served(const Resource& resource) const {
  return client_.served(resource);
}
Client::Subscription PatientClient::follow(const Resource& resource,
                                           std::function<void(const ObjectEvent&)> callback) {
  return client_.follow(resource, std::move(callback));
}
void PatientClient::unfollow(Subscription subscription) {
  client_.unfollow(subscription);
}

void PatientClient::submit(ClientWrite write, std::function<void(Result<ObjectPtr>)> done) {
  if (write.resource.kind != "Event") {
    others_.push_back(loop_.now());
    if (others_.size() > kMany) others_.pop_front();
    return client_.submit(std::move(write), std::move(done));
  }
  waiting_.push_back({std::move(write), std::move(done), loop_.now() + kLongestWait});
  if (!is_looking_) let_some_through();
}

bool PatientClient::is_busy(Time now) const {
  return others_.size() == kMany && now - others_.front() < kWithin;
}

void PatientClient::look_later() {
  is_looking_ = true;
  loop_.after(kPause, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    is_looking_ = false;
    let_some_through();
  });
}

// In the order they came, so that an Event is made before it is counted up.
void PatientClient::let_some_through() {
  const Time now = loop_.now();
  const bool waits = is_busy(now);
  for (size_t i = 0; i < kGroup && !waiting_.empty(); ++i) {
    Waiting& next = waiting_.front();
    if (waits && next.due > now && waiting_.size() < kMostWaiting) break;
    client_.submit(std::move(next.write), std::move(next.done));
    waiting_.pop_front();
  }
  if (waiting_.empty()) return;
  if (waits) return look_later();
  is_looking_ = true;
  loop_.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    is_looking_ = false;
    let_some_through();
  });
}

}  // namespace yard
