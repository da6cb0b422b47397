#include "node/real_pod_runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/json.h"
#include "node/disk_usage.h"
#include "node/files.h"
#include "node/journal.h"
#include "node/network/namespace_reuse.h"
#include "node/shim_socket.h"
#include "node/stray_processes.h"
#include "node/transient.h"
#include "node/volume_files.h"

namespace yard {
namespace {

constexpr size_t kMostJournal = 64 << 20, kMostMessage = 4096, kMostLogMessage = 2048;
constexpr size_t kMostLogMessageLines = 80;
constexpr size_t kMostLaunchFile = 16 << 20;

Json read_json(const std::string& path) {
  const auto text = read_text(path, kMostLaunchFile);
  auto parsed = parse_json(text.value_or(""));
  return parsed ? std::move(parsed->value) : Json(JsonObject());
}

// The text of log lines without their heads.
std::string log_text(std::string_view raw) {
  std::string out;
  for (const std::string_view line : split(raw, '\n')) {
    // time stream tag text
    size_t at = 0;
    for (int space = 0; space < 3 && at != std::string_view::npos; ++space)
      at = line.find(' ', at == 0 ? 0 : at + 1);
    if (at == std::string_view::npos || at < 2) continue;
    out.append(line.substr(at + 1));
    if (line[at - 1] == 'F') out += '\n';
  }
  return out;
}

// What an old run of a container has left: a crash loop must not fill the disk. Blocking.
void remove_run(const PodFolders& folders, std::string_view container, int run) {
  if (run < 0) return;
  const std::string log = folders.log(container, run);
  unlink(log.c_str());
  for (int number = 1; number < kMostLogFiles; ++number)
    unlink((log + "." + std::to_string(number)).c_str());
  unlink(folders.message(container, run).c_str());
  unlink(folders.container_file(container, run).c_str());
  const std::string name = std::string(container) + "." + std::to_string(run);
  for (const char* folder : {"/upper.", "/work."})
    remove_folder(folders.run + folder + name);
  for (const char* folder : {"/root/", "/mountpoints/"})
    remove_folder(folders.transient + folder + name);
}

// The lists of jobs whose pods have gone (node/sandbox/job_memory.h).
void forget_other_jobs(const std::string& folder, const std::set<std::string>& jobs) {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (!jobs.contains(entry.path().filename().string())) unlink(entry.path().c_str());
  }
}

void close_namespaces(const PodNamespaces& namespaces) {
  for (const int fd : {namespaces.net, namespaces.island, namespaces.user}) {
    if (fd >= 0) close(fd);
  }
}

}  // namespace

RealPodRuntime::RealPodRuntime(Loop& loop, std::string state_folder, std::string shim,
                               PodNetwork& network)
    : loop_(loop),
      state_(std::move(state_folder)),
      boot_id_(trim(read_text("/proc/sys/kernel/random/boot_id", 64).value_or(""))),
      transient_(prepare_transient(state_)),
      network_(network),
      cgroups_(prepare_cgroups(state_)),
      shims_(std::make_shared<ShimTemplate>(std::move(shim), state_)),
      shim_calls_(loop) {}

RealPodRuntime::~RealPodRuntime() {
  *alive_ = false;
  for (const auto& [uid, pod] : pods_) {
    if (pod->net >= 0) close(pod->net);
    if (pod->socket < 0) continue;
    loop_.forget_readable(pod->socket);
    close(pod->socket);
  }
  for (const std::string& base : cgroup_bases(cgroups_.roots, cgroups_.name))
    remove_spare_cgroups(base);
}

PodFolders RealPodRuntime::folders_of(const PodLaunch& launch) const {
  const std::string run = state_ + "/run/" + launch.uid;
  return {run, state_ + "/logs/" + log_folder_name(launch.ns, launch.name, launch.uid),
          transient_.empty() ? run : transient_ + "/" + launch.uid};
}

RealPodRuntime::Pod* RealPodRuntime::find_pod(std::string_view uid) {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second.get();
}

const PodRecord* RealPodRuntime::find(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second->record;
}

std::vector<std::string> RealPodRuntime::pods() const {
  std::vector<std::string> out;
  for (const auto& [uid, pod] : pods_)
    out.push_back(uid);
  return out;
}

std::string RealPodRuntime::log_path(std::string_view ns, std::string_view name,
                                     std::string_view uid, std::string_view container,
                                     int run) const {
  return PodFolders{"", state_ + "/logs/" + log_folder_name(ns, name, uid), ""}.log(container, run);
}

void RealPodRuntime::report(const std::string& uid) {
  loop_.post([this, uid, alive = alive_] {
    if (!*alive) return;
    for (const auto& callback : changed_)
      callback(uid);
  });
}

void RealPodRuntime::recover(std::function<void()> done) {
  std::error_code code;
  for (const char* folder : {"/run", "/logs"}) {
    if (auto made = make_folders(state_ + folder, 0700); !made)
      log_warning("{}", made.error().message);
  }
  spread_subfolders(state_ + "/run");
  for (const auto& entry : std::filesystem::directory_iterator(state_ + "/run", code)) {
    if (entry.is_directory(code)) adopt(entry.path().filename().string());
  }
  sweep_transient(state_);
  std::set<std::string> groups;
  for (const auto& [uid, pod] : pods_)
    groups.insert(pod->launch.shares_memory_with);
  loop_.run_blocking(
      [state = state_, groups = std::move(groups)] {
        sweep_lost_cgroups(state);
        forget_other_jobs(state + "/shared", groups);
      },
      [] {});
  loop_.post(std::move(done));
}

void RealPodRuntime::adopt(const std::string& uid) {
  auto pod = std::make_unique<Pod>();
  const std::string folder = state_ + "/run/" + uid;
  const Json launch = read_json(folder + "/launch.json");
  if (text_at(launch, {"uid"}) != uid) {
    // The server died before the launch was written: no shim was started.
    remove_folder(transient_of(state_, uid));
    remove_folder(folder);
    return;
  }
  pod->launch.uid = uid;
  pod->launch.ns = text_at(launch, {"namespace"});
  pod->launch.name = text_at(launch, {"pod"});
  pod->launch.hosts = bool_at(launch, {"hosts"}) ? "kept" : "";
  pod->launch.host_ipc = bool_at(launch, {"hostIPC"});
  pod->launch.host_pid = bool_at(launch, {"hostPID"});
  pod->launch.shares_memory_with = text_at(launch, {"sharedWith"});
  pod->launch.resolv_conf = bool_at(launch, {"resolvConf"}) ? "kept" : "";
  pod->launch.address = text_at(launch, {"address"});
  for (const Json& gpu : list_at(launch, {"gpus"}))
    pod->launch.gpus.emplace_back(text_of(gpu));
  for (const Json& entry : list_at(launch, {"hostPaths"})) {
    LaunchVolume volume;
    volume.name = text_at(entry, {"name"});
    volume.type = LaunchVolume::Type::HostPath;
    volume.path = text_at(entry, {"path"});
    pod->launch.volumes.push_back(std::move(volume));
  }
  for (const Json& name : list_at(launch, {"transientVolumes"})) {
    LaunchVolume volume;
    volume.name = text_of(name);
    volume.type = LaunchVolume::Type::Files;
    pod->launch.volumes.push_back(std::move(volume));
  }
  pod->folders = folders_of(pod->launch);
  pod->folders.transient = transient_of(state_, uid);
  pod->record.uid = uid;
  pod->record.ns = pod->launch.ns;
  pod->record.name = pod->launch.name;
  pod->record.address = pod->launch.address;
  pod->record.gpus = pod->launch.gpus;
  read_journal(*pod);
  if (access(pod->folders.shutdown_mark().c_str(), F_OK) == 0)
    pod->record.node_end = NodeEnd::Shutdown;
  else if (const std::string_view boot = text_at(launch, {"bootId"});
           !boot.empty() && !boot_id_.empty() && boot != boot_id_)
    pod->record.node_end = NodeEnd::Reboot;
  Pod& kept = *(pods_[uid] = std::move(pod));
  const int socket = connect_to_shim(folder, false);
  if (socket >= 0) {
    watch(kept, socket);
    return;
  }
  shim_ended(kept);
}

// What a pod's start needs, and what came of it.
struct RealPodRuntime::Start {
  PodLaunch launch;
  PodFolders folders;
  PodNamespaces namespaces;
  Result<void> made;
  int child = 0, socket = -1;
  std::function<void(Result<void>)> done;
};

void RealPodRuntime::start_pod(PodLaunch launch, std::function<void(Result<void>)> done) {
  if (const auto removal = removals_.find(launch.uid); removal != removals_.end()) {
    removal->second.push_back([this, launch = std::move(launch), done = std::move(done)]() mutable {
      start_pod(std::move(launch), std::move(done));
    });
    return;
  }
  auto start = std::make_shared<Start>();
  start->folders = folders_of(launch);
  start->launch = std::move(launch);
  start->done = std::move(done);
  const auto write = [start, boot_id = boot_id_] {
    start->made = write_pod_files(*start, boot_id);
  };
  const auto spawn = [start, shims = shims_] {
    if (start->made) start->made = bear_shim(*start, *shims);
    // The pod's own is looked at by whoever takes it.
    PodNamespaces done_with = start->namespaces;
    if (start->made) done_with.net = -1;
    close_namespaces(done_with);
  };
  const auto take = [this, start, alive = alive_] {
    if (*alive) return take_started(*start);
    if (start->made && start->namespaces.net >= 0) close(start->namespaces.net);
  };
  if (start->launch.host_network || network_.facts().island) {
    // The files and the shim in one go: the island's names are not in them.
    prepare_network(start, [this, write, spawn, take] {
      loop_.run_blocking(
          [write, spawn] {
            write();
            spawn();
          },
          take);
    });
    return;
  }
  loop_.run_blocking(write, [this, start, spawn, take, alive = alive_] {
    if (!*alive) return;
    if (!start->made) return take_started(*start);
    prepare_network(start, [this, spawn, take] { loop_.run_blocking(spawn, take); });
  });
}

// The pod's namespaces, then `next`; without them the start is over.
void RealPodRuntime::prepare_network(const std::shared_ptr<Start>& start,
                                     std::function<void()> next) {
  if (start->launch.host_network) return next();
  network_.prepare_start(
      start->launch.uid, start->launch.address,
      [this, start, next = std::move(next), alive = alive_](const Result<PodNamespaces>& prepared) {
        if (!*alive) {
          if (prepared) close_namespaces(*prepared);
          return;
        }
        if (prepared) {
          start->namespaces = *prepared;
          return next();
        }
        loop_.post([start, problem = prepared.error()] { start->done(problem); });
      });
}

void RealPodRuntime::take_started(Start& start) {
  Pod* pod = find_pod(start.launch.uid);
  if (!start.made) {
    // A first start that failed leaves nothing for the next one, or for nobody.
    if (pod == nullptr) remove_files(start.launch.uid, start.folders, "", true);
    return start.done(start.made);
  }
  if (pod == nullptr) pod = (pods_[start.launch.uid] = std::make_unique<Pod>()).get();
  pod->record.uid = start.launch.uid;
  pod->record.ns = start.launch.ns;
  pod->record.name = start.launch.name;
  pod->record.address = start.launch.address;
  pod->record.gpus = start.launch.gpus;
  pod->launch = std::move(start.launch);
  pod->folders = start.folders;
  pod->child = start.child;
  pod->told_to_stop = false;
  keep_network(*pod, start.namespaces.net);
  watch(*pod, start.socket);
  start.done({});
}

// Blocking.
Result<void> RealPodRuntime::write_pod_files(const Start& start, const std::string& boot_id) {
  const PodFolders& folders = start.folders;
  const PodLaunch& launch = start.launch;
  TRY(make_folders(folders.run, 0700));
  TRY(make_folders(folders.transient, 0700));
  TRY(make_folders(folders.transient + "/messages", 0700));
  TRY(make_folders(folders.transient + "/volumes", 0700));
  TRY(make_folder_beside(folders.run, folders.logs, 0700));
  TRY(write_text(folders.logs + "/pod.json", launch.about, 0600));
  for (const LaunchVolume& volume : launch.volumes)
    TRY(make_volume(volume, folders.volume(volume.name, volume.type)));
  if (!launch.hosts.empty()) TRY(write_text(folders.transient + "/hosts", launch.hosts, 0644));
  if (!launch.resolv_conf.empty())
    TRY(write_text(folders.transient + "/resolv.conf", launch.resolv_conf, 0644));
  // The shim syncs it before its journal: a start does not wait for the disk.
  return write_text(folders.run + "/launch.json", pod_launch_text(launch, folders, boot_id), 0600);
}

void RealPodRuntime::replace_files(std::string_view uid, LaunchVolume volume) {
  const Pod* pod = find_pod(uid);
  if (pod == nullptr || volume.type != LaunchVolume::Type::Files) return;
  auto kept = std::make_shared<LaunchVolume>(std::move(volume));
  loop_.run_blocking(
      [kept, folder = pod->folders.volume(kept->name, kept->type)] {
        if (auto updated = update_volume_files(*kept, folder); !updated)
          log_warning("a volume keeps its old files: {}", updated.error().message);
      },
      [] {});
}

// Blocking.
Result<void> RealPodRuntime::bear_shim(Start& start, ShimTemplate& shims) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return system_error("cannot make a socket for the pod");
  const auto child = shims.start(start.folders.run, start.folders.transient + "/shim.log", ends[1],
                                 start.namespaces);
  close(ends[1]);
  if (!child) {
    close(ends[0]);
    return child.error();
  }
  start.child = *child;
  start.socket = ends[0];
  return {};
}

void RealPodRuntime::watch(Pod& pod, int socket) {
  pod.socket = socket;
  pod.record.alive = true;
  loop_.on_readable(socket, [this, uid = pod.record.uid] { on_readable(uid); });
}

void RealPodRuntime::on_readable(const std::string& uid) {
  Pod* pod = find_pod(uid);
  if (pod == nullptr || pod->socket < 0) return;
  char message[kMostMessage];
  ssize_t size = 0;
  bool ended = false;
  // Messages only wake us; the journal says what has happened.
  while ((size = recv(pod->socket, message, sizeof message, MSG_DONTWAIT)) != 0) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    const std::string_view words(message, static_cast<size_t>(size));
    if (words.starts_with("error "))
      log_warning("shim of {}/{}: {}", pod->record.ns, pod->record.name, words);
  }
  ended = size == 0 || (size < 0 && errno != EAGAIN);
  const size_t before = pod->journal_read;
  read_journal(*pod);
  if (ended) return shim_ended(*pod);
  if (pod->journal_read != before) report(uid);
}

void RealPodRuntime::read_journal(Pod& pod) {
  const int fd = open((pod.folders.run + "/journal").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::string text;
  char buffer[16384];
  ssize_t count = sizeof buffer;
  while (text.size() < kMostJournal && count == sizeof buffer) {
    count = pread(fd, buffer, sizeof buffer, static_cast<off_t>(pod.journal_read + text.size()));
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
  }
  close(fd);
  std::string_view rest = text;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    add_journal_line(pod.record, rest.substr(0, end));
    pod.journal_read += end + 1;
    rest.remove_prefix(end + 1);
  }
  // What a program says of its end is there before its end is; a log's last lines may come later.
  const bool is_news = rest.data() != text.data();
  for (ContainerRun& run : pod.record.runs) {
    if (run.exit && run.exit->message.empty() && (is_news || run.exit->code != 0))
      read_message(pod, run);
  }
}

void RealPodRuntime::read_message(const Pod& pod, ContainerRun& run) const {
  run.exit->message =
      read_tail(pod.folders.message(run.container, run.run), kMostMessage).value_or("");
  if (!run.exit->message.empty() || run.exit->code == 0) return;
  if (!bool_at(read_json(pod.folders.container_file(run.container, run.run)), {"messageFromLog"}))
    return;
  std::string text = log_text(
      read_tail(pod.folders.log(run.container, run.run), 4 * kMostLogMessage).value_or(""));
  if (text.size() > kMostLogMessage) text.erase(0, text.size() - kMostLogMessage);
  const auto lines = split(text, '\n');
  if (lines.size() > kMostLogMessageLines)
    text.erase(
        0, static_cast<size_t>(lines[lines.size() - kMostLogMessageLines].data() - text.data()));
  run.exit->message = std::move(text);
}

void RealPodRuntime::shim_ended(Pod& pod) {
  if (pod.socket >= 0) {
    loop_.forget_readable(pod.socket);
    close(pod.socket);
    pod.socket = -1;
  }
  pod.record.alive = false;
  mark_lost(pod.record, loop_.now());
  sweep_after(pod, std::exchange(pod.child, 0), network_to_give_back(pod));
  report(pod.record.uid);
}

void RealPodRuntime::keep_network(Pod& pod, int net) {
  if (pod.net >= 0) close(pod.net);
  pod.net = net;
  if (net < 0 || ends_with_its_shim(pod.launch)) return;
  close(std::exchange(pod.net, -1));
}

// Of a pod whose shim was told to end, and where all was as it should be; -1: none.
int RealPodRuntime::network_to_give_back(Pod& pod) {
  const int net = std::exchange(pod.net, -1);
  if (net < 0 || (pod.told_to_stop && pod.record.refusals.empty())) return net;
  close(net);
  return -1;
}

// A shim removes its groups itself; one that was killed has left them, and its processes die with
// it a moment later. `child` is its pid when it is ours to wait for, `net` its network when another
// pod may have it.
void RealPodRuntime::sweep_after(const Pod& pod, int child, int net) {
  const auto obeyed = std::make_shared<bool>(false);
  loop_.run_blocking(
      [state = state_, uid = pod.record.uid, folder = pod.folders.run, child, obeyed,
       by_mounts = pod.launch.host_pid && cgroup_bases(cgroups_.roots, "").empty()] {
        int status = 0;
        *obeyed = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                  WEXITSTATUS(status) == 0;
        if (*obeyed) return;
        if (by_mounts) kill_processes_mounting(folder);
        sweep_pod_cgroups(noted_cgroups(state), uid);
      },
      [this, alive = alive_, obeyed, net] {
        if (net < 0) return;
        if (*alive && *obeyed) return network_.give_back(net);
        close(net);
      });
}

Result<void> RealPodRuntime::tell(Pod& pod, const std::string& message) {
  if (pod.socket < 0) return error(Reason::ServiceUnavailable, "the pod's shim has ended");
  if (send(pod.socket, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    return system_error("cannot reach the pod's shim");
  return {};
}

void RealPodRuntime::start(std::string_view uid, ContainerLaunch launch,
                           std::function<void(Result<void>)> done) {
  Pod* pod = find_pod(uid);
  if (pod == nullptr) {
    loop_.post([done = std::move(done)] { done(error(Reason::NotFound, "the pod has no shim")); });
    return;
  }
  struct Work {
    std::string container;
    int run = 0;
    std::string text;
    PodFolders folders;
    Result<void> written;
  };
  if (pod->net >= 0 && !leaves_network_as_found(launch)) close(std::exchange(pod->net, -1));
  auto work = std::make_shared<Work>();
  work->text = container_launch_text(launch, pod->launch, pod->folders,
                                     container_cgroups(cgroups_.roots, cgroups_.name, uid, launch));
  work->container = std::move(launch.container);
  work->run = launch.run;
  work->folders = pod->folders;
  const auto write = [work] {
    const PodFolders& folders = work->folders;
    work->written =
        write_text(folders.container_file(work->container, work->run), work->text, 0600);
    // The container's user may be anyone.
    if (work->written)
      work->written = write_text(folders.message(work->container, work->run), "", 0666);
  };
  const auto told = [this, work, uid = std::string(uid)]() -> Result<void> {
    Pod* there = find_pod(uid);
    if (there == nullptr) return error(Reason::NotFound, "the pod has no shim");
    TRY(std::move(work->written));
    return tell(*there, fmt::format("start {} {}", work->container, work->run));
  };
  if (pod->folders.transient != pod->folders.run && work->run < kMostRunsWithLog) {
    // Two small files in memory: sooner written than handed over.
    write();
    return done(told());
  }
  loop_.run_blocking(
      [work, write] {
        write();
        remove_run(work->folders, work->container, work->run - kMostRunsWithLog);
      },
      [told, alive = alive_, done = std::move(done)] {
        if (*alive) done(told());
      });
}

void RealPodRuntime::signal(std::string_view uid, std::string_view container, int number) {
  Pod* pod = find_pod(uid);
  if (pod == nullptr) return;
  for (const ContainerRun& run : pod->record.runs) {
    if (run.container != container || !run.is_running()) continue;
    if (auto told = tell(*pod, fmt::format("signal {} {} {}", container, run.run, number)); !told)
      log_warning("{}", told.error().message);
  }
}

int RealPodRuntime::socket_of(std::string_view uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? -1 : found->second->socket;
}

void RealPodRuntime::run_command(std::string_view uid, std::string_view container,
                                 std::vector<std::string> argv, Duration timeout,
                                 std::function<void(Result<CommandOutcome>)> done) {
  shim_calls_.run_command(socket_of(uid), container, std::move(argv), timeout, std::move(done));
}

void RealPodRuntime::start_command(std::string_view uid, std::string_view container,
                                   CommandLaunch launch,
                                   std::function<void(Result<StartedCommand>)> done) {
  shim_calls_.start_command(socket_of(uid), container, std::move(launch), std::move(done));
}

void RealPodRuntime::take_input(std::string_view uid, std::string_view container,
                                std::function<void(Result<Descriptor>)> done) {
  shim_calls_.take_input(socket_of(uid), container, std::move(done));
}

void RealPodRuntime::dial(std::string_view uid, std::string host, int port, Duration timeout,
                          std::function<void(Result<int>)> done) {
  shim_calls_.dial(socket_of(uid), std::move(host), port, timeout, std::move(done));
}

void RealPodRuntime::measure(std::string_view uid, std::function<void(PodUsage)> done) {
  Pod* pod = find_pod(uid);
  auto usage = std::make_shared<PodUsage>();
  loop_.run_blocking(
      [usage, folders = pod == nullptr ? PodFolders{} : pod->folders] {
        if (!folders.run.empty()) *usage = usage_of(folders);
      },
      [usage, alive = alive_, done = std::move(done)] {
        if (*alive) done(std::move(*usage));
      });
}

void RealPodRuntime::stop(std::string_view uid) {
  Pod* pod = find_pod(uid);
  if (pod == nullptr || pod->socket < 0) return;
  pod->told_to_stop = true;
  // It may be on its way out already: then its end says the same.
  if (auto told = tell(*pod, "stop"); !told) log_debug("{}", told.error().message);
}

void RealPodRuntime::remove(std::string_view uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second->record.alive) return;
  // Its launch goes first: a folder half removed is not taken for a pod.
  const PodFolders folders = found->second->folders;
  const std::string owned_uid = found->first;
  const bool never_ran = found->second->record.runs.empty();
  const std::string job = found->second->launch.shares_memory_with;
  pods_.erase(found);
  const bool is_last_of_job = !job.empty() && std::ranges::none_of(pods_, [&](const auto& entry) {
    return entry.second->launch.shares_memory_with == job;
  });
  remove_files(owned_uid, folders, is_last_of_job ? state_ + "/shared/" + job : "", never_ran);
}

// With its logs where none were written. `job_list` is a file to be removed too; "": none.
void RealPodRuntime::remove_files(const std::string& uid, const PodFolders& folders,
                                  const std::string& job_list, bool with_logs) {
  removals_[uid];
  loop_.run_blocking(
      [folders, job_list, with_logs] {
        if (!job_list.empty()) unlink(job_list.c_str());
        unlink((folders.run + "/launch.json").c_str());
        if (folders.transient != folders.run) remove_folder(folders.transient);
        remove_folder(folders.run);
        if (with_logs) remove_folder(folders.logs);
      },
      [this, uid, alive = alive_] {
        if (!*alive) return;
        const auto removed = removals_.extract(uid);
        for (const Task& waiting : removed.mapped())
          waiting();
      });
}

}  // namespace yard
