#include "cli/follow.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/tree.h"
#include "base/strings.h"
#include "cli/stream_queue.h"

namespace yard {
namespace {

using std::chrono::milliseconds;
constexpr Duration kTick = milliseconds(1000);
constexpr Duration kLogGrace = std::chrono::seconds(5);  // for the last lines of an ended object
constexpr Duration kPullSaidEvery = std::chrono::seconds(5);
constexpr size_t kMostStreams = 256;  // a thread each
constexpr std::array<int, 6> kColours{36, 35, 33, 32, 34, 31};

// One run of one container whose log is read.
struct LogSource {
  std::string rank;
  int colour = -1;
  bool is_ended = false;
};

// The image that a pod waits for.
struct ComingImage {
  std::string text;
  Time said{};
};

// An object that is followed.
struct FollowedRoot {
  const NamedObject& named;
  Followed out;
  std::optional<Time> finished;
  bool is_pod() const { return named.located.type.kind == "Pod"; }
  bool is_over() const { return out.end != Followed::End::Open; }
};

class Follower {
 public:
  Follower(Session& session, const std::vector<ResourceType>& types,
           const std::vector<NamedObject>& roots, const FollowWorld& world,
           const FollowOptions& options)
      : session_(session),
        types_(types),
        terminal_(session.terminal()),
        world_(world),
        options_(options),
        chain_(session, types),
        began_(world.now()) {
    for (const NamedObject& root : roots) {
      roots_.push_back({root, {}, std::nullopt});
      roots_.back().out.object = root.object;
      roots_.back().out.standing = standing_of(root.object);
    }
  }

  FollowResult run() {
    world_.on_interrupt([queue = queue_] { queue->push({Heard::Type::Interrupted, "", ""}); });
    begin_watches();
    while (!is_over_) {
      if (auto heard = queue_->pop(kTick)) take(std::move(*heard));
      show_progress();
      end_what_is_read();
    }
    queue_->close();
    clear_progress();
    terminal_.out.flush();
    for (FollowedRoot& root : roots_)
      out_.objects.push_back(std::move(root.out));
    return std::move(out_);
  }

 private:
  // The pods of each namespace once; each object, unless it is a pod itself.
  void begin_watches() {
    std::set<std::string> namespaces;
    for (const FollowedRoot& root : roots_) {
      const std::string& ns = root.named.located.address.name_space;
      if (!root.is_pod()) {
        watch_objects(world_.connect, queue_,
                      {resource_path(root.named.located.type, {ns, ""}),
                       root.named.located.address.name, false, root.named.uid()});
      }
      if (namespaces.insert(ns).second)
        watch_objects(
            world_.connect, queue_,
            {fmt::format("/api/v1/namespaces/{}/pods", percent_encode(ns)),
             roots_.size() == 1 && root.is_pod() ? root.named.located.address.name : "", true});
    }
  }

  void take(Heard heard) {
    switch (heard.type) {
      case Heard::Type::Line: show_line(heard.source, heard.text); break;
      case Heard::Type::LogEnded: sources_[heard.source].is_ended = true; break;
      case Heard::Type::Pod: on_pod(heard.object); break;
      case Heard::Type::PodGone: on_pod_gone(heard.object); break;
      case Heard::Type::Object:
        if (FollowedRoot* root = root_with(heard.source)) on_object(*root, heard.object);
        break;
      case Heard::Type::ObjectGone:
        if (FollowedRoot* root = root_with(heard.source)) on_deleted(*root);
        break;
      case Heard::Type::Interrupted:
        out_.interrupted = true;
        is_over_ = true;
        break;
      case Heard::Type::Lost:
        out_.lost = heard.text;
        is_over_ = true;
        break;
    }
  }

  FollowedRoot* root_with(std::string_view uid) {
    const auto found = std::ranges::find_if(
        roots_, [&](const FollowedRoot& root) { return root.named.uid() == uid; });
    return found == roots_.end() ? nullptr : &*found;
  }

  FollowedRoot* root_of(const Json& pod) {
    const auto found = std::ranges::find_if(
        roots_, [&](const FollowedRoot& root) { return chain_.leads_to(pod, root.named.uid()); });
    return found == roots_.end() ? nullptr : &*found;
  }

  // An object that finished is over once the logs of its pods are read, or will not come.
  void end_what_is_read() {
    const bool read = all_read();
    for (FollowedRoot& root : roots_) {
      if (root.is_over() || !root.finished) continue;
      if (read || world_.now() - *root.finished > kLogGrace) end(root, Followed::End::Finished);
    }
    is_over_ = is_over_ || std::ranges::all_of(roots_, &FollowedRoot::is_over);
  }

  void end(FollowedRoot& root, Followed::End how) {
    root.out.end = how;
    root.out.length = root.finished.value_or(world_.now()) - began_;
  }

  void on_deleted(FollowedRoot& root) {
    // Its end was seen (a job may go at once after it): the logs are read out.
    if (!root.finished && !root.is_over()) end(root, Followed::End::Deleted);
  }

  bool all_read() const {
    return unstarted_.empty() &&
           std::ranges::all_of(sources_, [](const auto& each) { return each.second.is_ended; });
  }

  void on_object(FollowedRoot& root, const Json& object) {
    if (text_at(object, {"metadata", "uid"}) != root.named.uid()) return on_deleted(root);
    const Standing before = root.out.standing;
    root.out.object = object;
    root.out.standing = standing_of(object);
    // Between two pods of a job it waits for a moment.
    if (root.out.standing.state != before.state && !root.out.standing.is_finished() &&
        root.out.standing.state != Standing::State::Waiting && !root.is_pod())
      say(fmt::format("{} is {}", root.named.located.shown(), word_for(root.out.standing.state)));
    if (!root.out.standing.is_finished() || root.finished) return;
    root.finished = world_.now();
    catch_up(root);
  }

  // The pods are watched by another thread, which may be behind: an end is believed only once all
  // pods were seen.
  void catch_up(const FollowedRoot& root) {
    if (root.is_pod()) return;
    const auto pods = pods_of(session_, types_, root.named);
    if (!pods) return;
    for (const Json& pod : *pods)
      on_pod(pod);
  }

  void on_pod(const Json& pod) {
    FollowedRoot* root = root_of(pod);
    if (root == nullptr) return;
    const std::string uid(text_at(pod, {"metadata", "uid"}));
    say_change(pod, uid);
    read_logs(pod, uid, *root);
    if (root->is_pod()) on_object(*root, pod);
  }

  void on_pod_gone(const Json& pod) {
    const std::string uid(text_at(pod, {"metadata", "uid"}));
    for (FollowedRoot& root : roots_) {
      // A list without the pod, when it alone was asked for, tells no uid.
      if (root.is_pod() && (uid.empty() || uid == root.named.uid())) on_deleted(root);
    }
    pulls_.erase(uid);
    if (states_.erase(uid) == 0) return;
    unstarted_.erase(uid);
    say(fmt::format("pod {} is gone", name_of(pod)));
  }

  void say_change(const Json& pod, const std::string& uid) {
    const std::string state = pod_state(pod);
    const std::string detail = detail_of(pod);
    states_[uid] = state;
    if (const std::string pull = pull_of(pod); !pull.empty()) return say_pull(pod, uid, pull);
    pulls_.erase(uid);
    if (std::exchange(said_[uid], state + detail) == state + detail) return;
    // Every pod passes through these in a moment; where it stays, there is a reason.
    const bool is_passing =
        state == "Pending" || state == "ContainerCreating" || state == "PodInitializing";
    if (is_passing && detail.empty()) return;
    say(fmt::format("pod {} {}{}", name_of(pod),
                    terminal_.colour ? styled(state, status_style(state)) : state, detail));
  }

  // How far the image that it waits for has come; "" when it waits for none.
  static std::string pull_of(const Json& pod) {
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
      for (const Json& status : list_at(pod, {"status", list})) {
        const std::string_view reason = text_at(status, {"state", "waiting", "reason"});
        if (reason == "ContainerCreating" || reason == "PodInitializing") {
          const std::string_view message = text_at(status, {"state", "waiting", "message"});
          if (!message.empty()) return std::string(message);
        }
      }
    }
    return "";
  }

  // Kept up to date below on a terminal, a line now and then elsewhere.
  void say_pull(const Json& pod, const std::string& uid, const std::string& pull) {
    ComingImage& coming = pulls_[uid];
    // The line below is short: the numbers must fit into it.
    const size_t numbers = pull.find(": ");
    coming.text = fmt::format("{}: pulling {}", name_of(pod),
                              numbers == std::string::npos ? pull : pull.substr(numbers + 2));
    if (world_.shows_progress || world_.now() - coming.said < kPullSaidEvery) return;
    coming.said = world_.now();
    say(fmt::format("pod {} is {}", name_of(pod), pull));
  }

  // Why it is in that state, as far as its status tells.
  static std::string detail_of(const Json& pod) {
    std::string out;
    for (const Json& condition : list_at(pod, {"status", "conditions"})) {
      if (text_at(condition, {"type"}) == "PodScheduled" &&
          text_at(condition, {"status"}) == "False")
        out += fmt::format(": {}", text_at(condition, {"message"}));
    }
    for (const Json& status : list_at(pod, {"status", "containerStatuses"})) {
      const std::string_view message = text_at(status, {"state", "waiting", "message"});
      const Json* ended = find_path(status, {"state", "terminated"});
      if (!message.empty()) out += fmt::format(": {}", message);
      if (ended != nullptr && int_at(*ended, {"exitCode"}) != 0)
        out += fmt::format(" (exit code {})", int_at(*ended, {"exitCode"}));
    }
    return out;
  }

  void read_logs(const Json& pod, const std::string& uid, const FollowedRoot& root) {
    bool has_begun = false, has_waiting = false;
    for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
      for (const Json& status : list_at(pod, {"status", list})) {
        const std::string container(text_at(status, {"name"}));
        if (!options_.container.empty() && container != options_.container) continue;
        const bool has_run = find_path(status, {"state", "running"}) != nullptr ||
                             find_path(status, {"state", "terminated"}) != nullptr ||
                             find_path(status, {"lastState", "terminated"}) != nullptr;
        has_begun = has_begun || has_run;
        has_waiting = has_waiting || !has_run;
        if (has_run && !text_at(status, {"containerID"}).empty())
          read_log(pod, fmt::format("{}/{}/{}", uid, container, int_at(status, {"restartCount"})),
                   container, root);
      }
    }
    const std::string_view phase = text_at(pod, {"status", "phase"});
    if (!has_begun && phase != "Failed" && phase != "Succeeded") {
      unstarted_.insert(uid);
    } else {
      unstarted_.erase(uid);
    }
  }

  void read_log(const Json& pod, const std::string& key, const std::string& container,
                const FollowedRoot& root) {
    if (sources_.contains(key)) return;
    if (sources_.size() >= kMostStreams) {
      if (!std::exchange(told_of_bound_, true))
        say(
            fmt::format("more than {} containers: the logs of the others are not followed; "
                        "`trainyard logs` shows them",
                        kMostStreams));
      return;
    }
    LogSource& source = sources_[key];
    // Of several objects each line names which.
    const std::string& name = root.named.located.address.name;
    source.rank = rank_of(pod, name);
    if (roots_.size() > 1 && source.rank != name) source.rank = name + "-" + source.rank;
    const size_t containers = list_at(pod, {"spec", "containers"}).size() +
                              list_at(pod, {"spec", "initContainers"}).size();
    if (containers > 1) source.rank += "/" + container;
    const auto [place, is_new] =
        colours_.emplace(source.rank, static_cast<int>(colours_.size() % kColours.size()));
    if (terminal_.colour) source.colour = place->second;
    width_ = std::max(width_, display_width(source.rank));
    read_log_lines(world_.connect, queue_,
                   fmt::format("/api/v1/namespaces/{}/pods/{}/log{}",
                               percent_encode(text_at(pod, {"metadata", "namespace"})),
                               percent_encode(name_of(pod)),
                               query_text({{"container", container},
                                           {"follow", options_.waits_for_end ? "true" : ""},
                                           {"tailLines", options_.tail_lines},
                                           {"timestamps", options_.timestamps ? "true" : ""}})),
                   key);
  }

  void show_line(const std::string& key, std::string_view line) {
    const LogSource& source = sources_[key];
    clear_progress();
    terminal_.out << prefixed_line({source.rank, width_, source.colour}, line) << "\n";
    terminal_.out.flush();
  }

  void say(const std::string& line) {
    if (!options_.shows_states) return;
    clear_progress();
    const std::string time = fmt::format("{:>6} ", elapsed_text(world_.now() - began_));
    terminal_.err << (terminal_.colour ? styled(time, Style::Bold) : time)
                  << printable_but_colours(line) << "\n";
    terminal_.err.flush();
  }

  // Colours in it are ours; what others wrote is made safe.
  std::string printable_but_colours(const std::string& line) const {
    if (!terminal_.colour) return printable(line);
    std::string out;
    for (const char character : line) {
      const auto byte = static_cast<unsigned char>(character);
      if (byte >= 0x20 || byte == 0x1b) out += character;
    }
    return out;
  }

  void show_progress() {
    if (!world_.shows_progress || !options_.shows_states) return;
    int running = 0, ended = 0;
    for (const auto& [uid, state] : states_) {
      if (state == "Running") ++running;
      if (state == "Completed" || state == "Succeeded" || state == "Failed" || state == "Error")
        ++ended;
    }
    if (!pulls_.empty()) return show_below(pulls_.begin()->second.text);
    const FollowedRoot& first = roots_.front();
    const std::string what = roots_.size() == 1 ? fmt::format("{} {}", first.named.located.shown(),
                                                              word_for(first.out.standing.state))
                                                : fmt::format("{} objects", roots_.size());
    show_below(fmt::format("{}: {} of {} pods running, {} ended, {}", what, running, states_.size(),
                           ended, elapsed_text(world_.now() - began_)));
  }

  void show_below(const std::string& line) {
    terminal_.err << "\r\033[K" << shortened(printable(line), world_.columns - 1);
    terminal_.err.flush();
    progress_shown_ = true;
  }

  void clear_progress() {
    if (!std::exchange(progress_shown_, false)) return;
    terminal_.err << "\r\033[K";
    terminal_.err.flush();
  }

  Session& session_;
  const std::vector<ResourceType>& types_;
  Terminal& terminal_;
  const FollowWorld& world_;
  const FollowOptions& options_;
  OwnerChain chain_;
  Time began_;
  StreamQueuePtr queue_ = std::make_shared<StreamQueue>();
  FollowResult out_;
  std::vector<FollowedRoot> roots_;
  std::map<std::string, std::string> states_;  // pod uid → its state
  std::map<std::string, std::string> said_;    // and what was said of it last
  std::map<std::string, ComingImage> pulls_;   // pods that wait for their image
  std::set<std::string> unstarted_;            // pods without a log yet
  std::map<std::string, LogSource> sources_;
  std::map<std::string, int> colours_;  // rank → which
  int width_ = 0;
  bool is_over_ = false, progress_shown_ = false, told_of_bound_ = false;
};

}  // namespace

std::string prefixed_line(const LogPrefix& prefix, std::string_view line) {
  while (line.ends_with('\r'))
    line.remove_suffix(1);
  if (const size_t overwritten = line.rfind('\r'); overwritten != std::string_view::npos)
    line.remove_prefix(overwritten + 1);
  const std::string head = fmt::format("[{}]", prefix.rank);
  const int padding = std::max(0, prefix.width - display_width(prefix.rank));
  const std::string shown =
      prefix.colour < 0
          ? head
          : fmt::format("\033[{}m{}\033[0m", kColours[static_cast<size_t>(prefix.colour)], head);
  return fmt::format("{}{} {}", shown, std::string(static_cast<size_t>(padding), ' '), line);
}

std::string elapsed_text(Duration length) {
  const int64_t seconds =
      std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(length).count());
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

std::string shortened(std::string_view text, int columns) {
  size_t end = 0;
  while (end < text.size()) {
    size_t next = end + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0) == 0x80)
      ++next;
    if (display_width(text.substr(0, next)) > columns) break;
    end = next;
  }
  return std::string(text.substr(0, end));
}

FollowResult follow(Session& session, const std::vector<ResourceType>& types,
                    const std::vector<NamedObject>& roots, const FollowWorld& world,
                    const FollowOptions& options) {
  return Follower(session, types, roots, world, options).run();
}

}  // namespace yard
