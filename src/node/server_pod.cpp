#include "node/server_pod.h"

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/core/mirror_pod.h"
#include "api/tree.h"
#include "base/log.h"
#include "base/strings.h"
#include "node/files.h"
#include "node/node_object.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"}, kNode{"v1", "Node"}, kNamespace{"v1", "Namespace"};
constexpr std::string_view kHome = "kubeflow", kContainer = "training-operator";
constexpr std::string_view kHash = "kubernetes.io/config.hash";
constexpr Duration kFirstRetry = std::chrono::seconds(1), kLongestRetry = std::chrono::minutes(5);
// Clients that wait for a deletion look by name, and must find nothing once.
constexpr Duration kAway = std::chrono::seconds(1);
constexpr size_t kMostProcText = 64 << 10;

// A text after the program's name, which may hold spaces and parentheses itself.
std::vector<std::string_view> stat_fields(std::string_view stat) {
  const size_t end = stat.rfind(')');
  return end == std::string_view::npos ? std::vector<std::string_view>()
                                       : split(trim(stat.substr(end + 1)), ' ');
}

Json metadata_of(const ServerPodFacts& facts) {
  return JsonObject{{"name", server_pod_name(facts.node)},
                    {"namespace", kHome},
                    {"labels", JsonObject{{"app.kubernetes.io/managed-by", "trainyard"},
                                          {"control-plane", "kubeflow-training-operator"}}},
                    {"ownerReferences", JsonArray{JsonObject{{"apiVersion", "v1"},
                                                             {"kind", "Node"},
                                                             {"name", facts.node},
                                                             {"uid", facts.node_uid},
                                                             {"controller", true}}}}};
}

Json spec_of(const ServerPodFacts& facts) {
  JsonArray command;
  for (const std::string& word : facts.process.command)
    command.emplace_back(word);
  return JsonObject{
      {"nodeName", facts.node},
      {"hostNetwork", true},
      {"priorityClassName", "system-node-critical"},
      {"automountServiceAccountToken", false},
      {"tolerations", JsonArray{JsonObject{{"operator", "Exists"}}}},
      {"containers", JsonArray{JsonObject{{"name", kContainer},
                                          {"image", fmt::format("trainyard:{}", kTrainyardVersion)},
                                          {"imagePullPolicy", "Never"},
                                          {"command", std::move(command)}}}}};
}

Json wanted_pod(const ServerPodFacts& facts) {
  Json metadata = metadata_of(facts);
  Json spec = spec_of(facts);
  const std::string hash = hex(hash_bytes(to_text(metadata) + to_text(spec)));
  metadata.get_object()["annotations"] =
      JsonObject{{kMirrorAnnotation, hash}, {kHash, hash}, {"kubernetes.io/config.source", "file"}};
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

std::string process_id(const ServerProcess& process) {
  return fmt::format("trainyard://server/{}-{}", process.pid, unix_seconds(process.started));
}

// How the server before this one ended.
Json last_state(const ServerProcess& process, const Json& before) {
  JsonObject out{{"exitCode", process.follows_crash ? 137 : 0},
                 {"reason", process.follows_crash ? "ContainerStatusUnknown" : "Completed"},
                 {"startedAt", text_at(before, {"state", "running", "startedAt"})},
                 {"finishedAt", rfc3339(process.started)},
                 {"containerID", text_at(before, {"containerID"})}};
  return JsonObject{{"terminated", std::move(out)}};
}

Json container_status(const ServerPodFacts& facts, const Json& known) {
  const std::string id = process_id(facts.process);
  const JsonArray& statuses = list_at(known, {"containerStatuses"});
  const Json before = statuses.empty() ? Json() : statuses.at(0);
  const bool is_new = text_at(before, {"containerID"}) != id;
  const int64_t restarts = int_at(before, {"restartCount"});
  Json last = JsonObject();
  if (const Json* kept = find(before, "lastState"); kept != nullptr && !is_new) last = *kept;
  if (is_new && !before.is_null()) last = last_state(facts.process, before);
  return JsonObject{
      {"name", kContainer},
      {"state", JsonObject{{"running", JsonObject{{"startedAt", rfc3339(facts.process.started)}}}}},
      {"lastState", std::move(last)},
      {"ready", true},
      {"restartCount", is_new && !before.is_null() ? restarts + 1 : restarts},
      {"image", fmt::format("trainyard:{}", kTrainyardVersion)},
      {"imageID", "host:///proc/self/exe"},
      {"containerID", id},
      {"started", true}};
}

Json wanted_status(const ServerPodFacts& facts, const Json& known) {
  const std::string since = rfc3339(facts.process.started);
  JsonArray conditions;
  for (const char* type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
    conditions.push_back(JsonObject{{"type", type},
                                    {"status", "True"},
                                    {"lastProbeTime", nullptr},
                                    {"lastTransitionTime", since}});
  return JsonObject{
      {"phase", "Running"},      {"conditions", std::move(conditions)},
      {"hostIP", facts.address}, {"hostIPs", JsonArray{JsonObject{{"ip", facts.address}}}},
      {"podIP", facts.address},  {"podIPs", JsonArray{JsonObject{{"ip", facts.address}}}},
      {"startTime", since},      {"containerStatuses", JsonArray{container_status(facts, known)}}};
}

ClientWrite delete_now(const Json& pod) {
  return {ClientWrite::Verb::Delete, kPod, std::string(text_at(pod, {"metadata", "namespace"})),
          std::string(name_of(pod)),
          JsonObject{{"gracePeriodSeconds", 0},
                     {"preconditions", JsonObject{{"uid", text_at(pod, {"metadata", "uid"})}}}}};
}

bool is_shown(const Json& live, const std::string& id) {
  const JsonArray& statuses = list_at(live, {"status", "containerStatuses"});
  return text_at(live, {"status", "phase"}) == "Running" && statuses.size() == 1 &&
         text_at(statuses.at(0), {"containerID"}) == id && bool_at(statuses.at(0), {"ready"});
}

}  // namespace

ServerProcess read_own_process(Time now) {
  ServerProcess out;
  out.pid = getpid();
  out.started = now;
  const std::string stat = read_text("/proc/self/stat", kMostProcText).value_or("");
  const std::string uptime = read_text("/proc/uptime", kMostProcText).value_or("");
  const std::vector<std::string_view> fields = stat_fields(stat);
  constexpr size_t kStart = 19;  // `starttime`, of the fields behind the name
  const auto ticks = fields.size() > kStart ? parse_int64(fields[kStart]) : std::nullopt;
  const auto up = parse_int64(std::string_view(uptime).substr(0, uptime.find('.')));
  if (ticks && up)
    out.started =
        now - std::chrono::seconds(std::max<int64_t>(0, *up - *ticks / sysconf(_SC_CLK_TCK)));
  std::string line = read_text("/proc/self/cmdline", kMostProcText).value_or("");
  while (line.ends_with('\0'))
    line.pop_back();
  bool is_passing = false;  // what differs from start to start and says nothing
  for (const std::string_view word : split(line, '\0')) {
    const bool skipped = std::exchange(is_passing, word == "--ready-fd") || word == "--ready-fd";
    if (!skipped && !word.empty() && is_valid_utf8(word)) out.command.emplace_back(word);
  }
  if (out.command.empty()) out.command.emplace_back("trainyard");
  return out;
}

std::string own_log_file() {
  struct stat facts;
  if (fstat(STDERR_FILENO, &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/fd/2", path.data(), path.size());
  if (size <= 0 || static_cast<size_t>(size) >= path.size()) return "";
  path.resize(static_cast<size_t>(size));
  return path.starts_with('/') ? path : "";
}

std::string server_pod_name(std::string_view node) {
  return fmt::format("{}-{}", kContainer, node);
}

std::optional<ClientWrite> plan_server_pod(const ServerPodFacts& facts, const Json& live,
                                           const Json& known) {
  Json wanted = wanted_pod(facts);
  const std::string name = server_pod_name(facts.node);
  if (live.is_null())
    return ClientWrite{ClientWrite::Verb::Create, kPod, std::string(kHome), name,
                       std::move(wanted)};
  if (!is_mirror_pod(live)) return std::nullopt;
  const auto mark = [](const Json& pod) {
    return text_at(pod, {"metadata", "annotations", kMirrorAnnotation});
  };
  if (is_being_deleted(live) || mark(live) != mark(wanted)) return delete_now(live);
  if (is_shown(live, process_id(facts.process))) return std::nullopt;
  Json next = live;
  next.get_object()["status"] = wanted_status(facts, known);
  return ClientWrite{ClientWrite::Verb::UpdateStatus, kPod, std::string(kHome), name,
                     std::move(next)};
}

ServerPod::ServerPod(Client& client, Loop& loop, ServerPodFacts facts)
    : client_(client), loop_(loop), facts_(std::move(facts)), name_(server_pod_name(facts_.node)) {
  pods_ = client_.follow(kPod, [this](const ObjectEvent& event) { hear_pod(event); });
  nodes_ = client_.follow(kNode, [this](const ObjectEvent& event) {
    if (event.type == ObjectEvent::Type::Added && event.object->name() == facts_.node)
      ensure_later();
  });
  namespaces_ = client_.follow(kNamespace, [this](const ObjectEvent& event) {
    if (event.type == ObjectEvent::Type::Added && event.object->name() == kHome) ensure_later();
  });
  remove_others();
  ensure_later();
}

ServerPod::~ServerPod() {
  *alive_ = false;
  loop_.cancel(retry_);
  for (const Client::Subscription each : {pods_, nodes_, namespaces_})
    client_.unfollow(each);
}

// Of a node that this machine was before, by another name.
void ServerPod::remove_others() {
  for (const ObjectPtr& pod : client_.list(kPod, kHome)) {
    if (pod->name() == name_ || !is_mirror_pod(*pod)) continue;
    client_.submit(delete_now(pod->tree()), [](const Result<ObjectPtr>&) {});
  }
}

void ServerPod::hear_pod(const ObjectEvent& event) {
  if (event.object->ns() != kHome || event.object->name() != name_) return;
  if (event.type == ObjectEvent::Type::Deleted) create_after_ = loop_.now() + kAway;
  ensure_later();
}

void ServerPod::ensure_later() {
  if (std::exchange(again_, true) || busy_) return;
  loop_.post([this, alive = alive_] {
    if (*alive) ensure();
  });
}

void ServerPod::ensure() {
  again_ = false;
  if (busy_) {
    again_ = true;
    return;
  }
  const ObjectPtr node = client_.get(kNode, "", facts_.node);
  if (node == nullptr || client_.get(kNamespace, "", kHome) == nullptr) return;
  facts_.node_uid = node->uid();
  const ObjectPtr object = client_.get(kPod, kHome, name_);
  const Json live = object == nullptr ? Json() : object->tree();
  uid_ = object == nullptr || !is_mirror_pod(live) ? "" : std::string(object->uid());
  if (const Json* status = find(live, "status");
      !uid_.empty() && status != nullptr && !list_at(*status, {"containerStatuses"}).empty())
    known_ = *status;
  if (live.is_null() && loop_.now() < create_after_) return look_again(create_after_ - loop_.now());
  auto write = plan_server_pod(facts_, live, known_);
  if (!write) return;
  busy_ = true;
  client_.submit(std::move(*write), [this, alive = alive_](const Result<ObjectPtr>& answer) {
    if (!*alive) return;
    busy_ = false;
    again_ = false;
    if (answer) {
      failures_ = 0;
      return ensure_later();
    }
    if (answer.error().message.find("because it is being terminated") != std::string::npos)
      return;  // the namespace comes back, or nobody wants to see us
    log_warning("the server's own pod was not written: {}", answer.error().message);
    const Duration wait =
        std::min<Duration>(kFirstRetry * (1 << std::min(failures_++, 8)), kLongestRetry);
    look_again(wait);
  });
}

void ServerPod::look_again(Duration wait) {
  loop_.cancel(retry_);
  retry_ = loop_.after(wait, [this] { ensure_later(); });
}

}  // namespace yard
