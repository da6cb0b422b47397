#include "node/log_archive.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

#include "api/tree.h"
#include "base/log.h"
#include "base/strings.h"
#include "node/disk_usage.h"
#include "node/files.h"

namespace yard {
namespace {

const Resource kPod{"v1", "Pod"};
constexpr size_t kMostAbout = 1 << 20;
constexpr size_t kRemovedAtOnce = 64;

std::string key_of(std::string_view ns, std::string_view pod) {
  return std::string(ns) + "/" + std::string(pod);
}

template <typename Key>
void erase_pair(std::multimap<Key, std::string>& map, const Key& key, const std::string& value) {
  const auto [begin, end] = map.equal_range(key);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second != value) continue;
    map.erase(entry);
    return;
  }
}

}  // namespace

LogArchive::LogArchive(Client& client, Loop& loop, std::string folder, LogBounds bounds)
    : client_(client), loop_(loop), folder_(std::move(folder)), bounds_(bounds) {}

LogArchive::~LogArchive() {
  *alive_ = false;
  loop_.cancel(timer_);
  if (pods_ != 0) client_.unfollow(pods_);
  for (const auto& [resource, subscription] : owners_)
    client_.unfollow(subscription);
}

std::string LogArchive::path_of(const LogFolder& folder) const {
  return folder_ + "/" + log_folder_name(folder.ns, folder.pod, folder.uid);
}

// Blocking.
std::vector<LogArchive::Found> LogArchive::scan(const std::string& folder) {
  std::vector<std::pair<std::filesystem::file_time_type, Found>> found;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    auto parsed = parse_log_folder_name(entry.path().filename().string());
    if (!parsed) continue;
    const std::string path = entry.path().string();
    auto about = parse_json(read_text(path + "/pod.json", kMostAbout).value_or("{}"));
    if (about) {
      parsed->owner = log_owner_in(about->value);
      parsed->pod = text_at(about->value, {"pod"}, parsed->pod);
    }
    std::optional<Time> gone;
    if (const auto text = read_text(path + "/gone", 64)) gone = parse_rfc3339(trim(*text));
    found.push_back(
        {entry.last_write_time(code), Found{std::move(*parsed), gone, disk_usage(path)}});
  }
  std::ranges::sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<Found> out;
  out.reserve(found.size());
  for (auto& [time, each] : found)
    out.push_back(std::move(each));
  return out;
}

void LogArchive::start() {
  pods_ = client_.follow(kPod, [this](const ObjectEvent& event) { on_pod(event); });
  auto found = std::make_shared<std::vector<Found>>();
  loop_.run_blocking([found, folder = folder_] { *found = scan(folder); },
                     [this, found, alive = alive_] {
                       if (!*alive) return;
                       for (Found& each : *found)
                         keep(std::move(each));
                       hold_bound();
                     });
}

void LogArchive::on_pod(const ObjectEvent& event) {
  if (event.type != ObjectEvent::Type::Deleted) return;
  LogFolder folder;
  folder.ns = event.object->ns();
  folder.pod = event.object->name();
  folder.uid = event.object->uid();
  ended_.push_back(std::move(folder));
  if (!looking_) take_next();
}

// Not every pod has run here: those that left nothing are forgotten.
void LogArchive::take_next() {
  looking_ = !ended_.empty();
  if (!looking_) return;
  auto found = std::make_shared<std::vector<Found>>();
  loop_.run_blocking(
      [found, folders = std::exchange(ended_, {}), root = folder_] {
        for (const LogFolder& folder : folders) {
          Found each{folder, std::nullopt, 0};
          const std::string path = root + "/" + log_folder_name(folder.ns, folder.pod, folder.uid);
          if (access(path.c_str(), F_OK) != 0) continue;
          auto about = parse_json(read_text(path + "/pod.json", kMostAbout).value_or("{}"));
          if (about) each.folder.owner = log_owner_in(about->value);
          each.bytes = disk_usage(path);
          found->push_back(std::move(each));
        }
      },
      [this, found, alive = alive_] {
        if (!*alive) return;
        for (Found& each : *found)
          keep(std::move(each));
        hold_bound();
        take_next();
      });
}

bool LogArchive::owner_lives(const LogOwner& owner, const std::string& ns) const {
  if (owner.uid.empty()) return false;
  const ObjectPtr object = client_.get({owner.api_version, owner.kind}, ns, owner.name);
  return object != nullptr && object->uid() == owner.uid;
}

void LogArchive::keep(Found found) {
  const std::string uid = found.folder.uid;
  if (kept_.contains(uid)) return;
  const ObjectPtr pod = client_.get(kPod, found.folder.ns, found.folder.pod);
  if (pod != nullptr && pod->uid() == uid) return;  // it is still there
  Kept& kept = kept_[uid];
  kept.folder = std::move(found.folder);
  kept.gone = found.gone;
  kept.order = ++order_;
  kept.bytes = found.bytes;
  bytes_ += kept.bytes;
  by_name_.emplace(key_of(kept.folder.ns, kept.folder.pod), uid);
  const LogOwner& owner = kept.folder.owner;
  if (owner_lives(owner, kept.folder.ns)) {
    kept.gone.reset();
    by_owner_.emplace(owner.uid, uid);
    follow_owner({owner.api_version, owner.kind});
  } else {
    begin_retention(kept);
  }
}

void LogArchive::follow_owner(const Resource& resource) {
  if (owners_.contains(resource)) return;
  owners_[resource] = client_.follow(resource, [this](const ObjectEvent& event) {
    if (event.type != ObjectEvent::Type::Deleted) return;
    const auto [begin, end] = by_owner_.equal_range(std::string(event.object->uid()));
    std::vector<std::string> pods;
    for (auto entry = begin; entry != end; ++entry)
      pods.push_back(entry->second);
    by_owner_.erase(begin, end);
    for (const std::string& uid : pods)
      begin_retention(kept_.at(uid));
  });
}

void LogArchive::begin_retention(Kept& kept) {
  const Time now = loop_.now();
  // A clock that was set back must not keep a folder for ever.
  if (!kept.gone || *kept.gone > now) {
    kept.gone = now;
    loop_.run_blocking(
        [path = path_of(kept.folder) + "/gone", text = rfc3339(now) + "\n"] {
          if (auto written = write_text(path, text, 0600); !written)
            log_warning("{}", written.error().message);
        },
        [] {});
  }
  due_.emplace(*kept.gone + bounds_.retention, kept.folder.uid);
  wait_for_due();
}

void LogArchive::wait_for_due() {
  loop_.cancel(timer_);
  timer_ = 0;
  if (due_.empty()) return;
  const Duration wait = std::max<Duration>(Duration{}, due_.begin()->first - loop_.now());
  timer_ = loop_.after(wait, [this] {
    timer_ = 0;
    remove_due();
  });
}

// Answers where its files are.
std::string LogArchive::forget(const std::string& uid) {
  const Kept& kept = kept_.at(uid);
  const std::string path = path_of(kept.folder);
  bytes_ -= kept.bytes;
  erase_pair(by_name_, key_of(kept.folder.ns, kept.folder.pod), uid);
  if (kept.gone)
    erase_pair(due_, *kept.gone + bounds_.retention, uid);
  else
    erase_pair(by_owner_, kept.folder.owner.uid, uid);
  kept_.erase(uid);
  return path;
}

// Those whose job is gone go first, then those whose job is still there; the oldest of each.
void LogArchive::hold_bound() {
  std::vector<std::string> paths;
  while (bytes_ > bounds_.most_bytes && !kept_.empty()) {
    const auto oldest =
        std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.order; });
    const std::string uid = due_.empty() ? oldest->first : due_.begin()->second;
    log_info("the logs of pod {}/{} go: all together they take more than {} bytes",
             kept_.at(uid).folder.ns, kept_.at(uid).folder.pod, bounds_.most_bytes);
    paths.push_back(forget(uid));
  }
  if (paths.empty()) return;
  loop_.run_blocking(
      [paths = std::move(paths)] {
        for (const std::string& path : paths)
          remove_folder(path);
      },
      [] {});
}

void LogArchive::remove_due() {
  std::vector<std::string> paths;
  while (!due_.empty() && due_.begin()->first <= loop_.now() && paths.size() < kRemovedAtOnce) {
    paths.push_back(forget(std::string(due_.begin()->second)));
  }
  loop_.run_blocking(
      [paths = std::move(paths)] {
        for (const std::string& path : paths)
          remove_folder(path);
      },
      [this, alive = alive_] {
        if (*alive) wait_for_due();
      });
}

std::optional<LogFolder> LogArchive::find(std::string_view ns, std::string_view pod) const {
  const auto [begin, end] = by_name_.equal_range(key_of(ns, pod));
  const Kept* newest = nullptr;
  for (auto entry = begin; entry != end; ++entry) {
    const Kept& kept = kept_.at(entry->second);
    if (newest == nullptr || kept.order > newest->order) newest = &kept;
  }
  if (newest == nullptr) return std::nullopt;
  return newest->folder;
}

}  // namespace yard
