#include "apiserver/watch_hub.h"

#include <algorithm>

#include <fmt/format.h>

#include "apiserver/change.h"
#include "apiserver/status.h"
#include "base/strings.h"

namespace yard {

// What every event needs stands first, in as few cache lines as it takes.
struct WatchHub::Watcher {
  std::shared_ptr<HttpStream> stream;
  Revision seen = 0;  // everything up to here has been sent
  size_t initial_bytes =
      0;              // it asked for these: they do not count against what it may have waiting
  uint32_t form = 0;  // watchers with equal forms share encoded lines
  bool columns_sent = false;
  bool gone = false;
  WatchRequest request;
  Topic* topic = nullptr;
  WatcherList::iterator place;
  StandingRights::Hold rights;
  TimerId timeout = 0;
};

struct WatchHub::Topic {
  std::string storage;
  Store::ListenerId listener = 0;
  WatcherList watchers;
};

namespace {

std::string form_of(const WatchRequest& request) {
  const Rendering& rendering = request.rendering;
  return fmt::format("{}/{}/{}/{}", static_cast<int>(rendering.representation.form),
                     rendering.representation.transform_version,
                     static_cast<int>(rendering.include), request.kind->api_version());
}

// What a change is for one selection: it may bring an object in or take it out.
const char* type_for(const StoreEvent& event, const Selection& selection, const Object** shown) {
  const bool was = event.previous != nullptr && selection.matches(*event.previous);
  const bool is = event.type != StoreEvent::Type::Deleted && selection.matches(*event.object);
  *shown = event.object.get();
  if (is) return was ? "MODIFIED" : "ADDED";
  return was ? "DELETED" : nullptr;
}

}  // namespace

WatchHub::WatchHub(Loop& loop, Store& store, StandingRights& rights, WatchLimits limits)
    : loop_(loop), store_(store), rights_(rights), limits_(limits) {}

WatchHub::~WatchHub() {
  *alive_ = false;
  for (auto& [storage, topic] : topics_)
    store_.forget(topic->listener);
  if (bookmark_timer_ != 0) loop_.cancel(bookmark_timer_);
}

// The time of a token or certificate is part of the watch's own length: it ends with a bookmark.
void WatchHub::hold_rights(const std::shared_ptr<Watcher>& watcher) {
  StreamRights rights = watcher->request.rights;
  if (!rights.is_allowed) return;
  rights.ends.reset();
  watcher->rights = rights_.hold(std::move(rights), [this, weak = std::weak_ptr(watcher)] {
    const auto ended = weak.lock();
    if (ended == nullptr || ended->gone) return;
    ended->stream->close();
    remove(ended);
  });
}

void WatchHub::begin(WatchRequest request, std::shared_ptr<HttpStream> stream) {
  auto& topic = topics_[request.kind->storage];
  if (topic == nullptr) {
    topic = std::make_unique<Topic>();
    topic->storage = request.kind->storage;
    topic->listener = store_.listen(
        topic->storage,
        [this, at = topic.get()](const StoreEventPtr& event) { deliver(*at, event); });
  }
  auto watcher = std::make_shared<Watcher>();
  watcher->form =
      forms_.emplace(form_of(request), static_cast<uint32_t>(forms_.size())).first->second;
  watcher->request = std::move(request);
  watcher->stream = std::move(stream);
  watcher->topic = topic.get();
  watcher->place = topic->watchers.insert(topic->watchers.end(), watcher);
  hold_rights(watcher);
  ++watchers_;
  watcher->stream->on_closed([this, alive = alive_, weak = std::weak_ptr(watcher)] {
    loop_.post([this, alive, weak] {
      const auto closed = weak.lock();
      if (*alive && closed != nullptr) remove(closed);
    });
  });
  if (!send_initial(watcher)) {
    watcher->stream->close();
    remove(watcher);
    return;
  }
  const int64_t asked = watcher->request.options.timeout_seconds.value_or(0);
  Duration length =
      asked > 0 ? std::chrono::seconds(std::min<int64_t>(asked, 24 * 3600))
                : std::chrono::seconds(1800 + static_cast<int64_t>(loop_.random().below(1800)));
  if (const auto ends = watcher->request.rights.ends)
    length = std::clamp(*ends - loop_.now(), Duration{}, length);
  const bool bookmarks = watcher->request.options.allow_bookmarks;
  const Duration first =
      bookmarks && length > limits_.before_deadline * 2 ? length - limits_.before_deadline : length;
  watcher->timeout =
      loop_.after(first, [this, weak = std::weak_ptr(watcher), rest = length - first, bookmarks] {
        const auto late = weak.lock();
        if (late == nullptr || late->gone) return;
        if (bookmarks) send_bookmark(*late, false);
        late->timeout = loop_.after(rest, [this, weak] {
          const auto over = weak.lock();
          if (over == nullptr || over->gone) return;
          over->stream->close();
          remove(over);
        });
      });
  arm_bookmarks();
}

// Answers false when the watch cannot begin: the error has been sent.
bool WatchHub::send_initial(const std::shared_ptr<Watcher>& watcher) {
  const ListOptions& options = watcher->request.options;
  const auto needed = needed_revision(options);
  if (!needed) {
    send_error(*watcher, needed.error());
    return false;
  }
  const bool from_now = *needed == 0;
  if (options.send_initial_events.value_or(from_now)) {
    ListRange range;
    range.ns = watcher->request.selection.ns;
    range.matches = [&](const Object& object) {
      return watcher->request.selection.matches(object);
    };
    const Listing listing = store_.list(watcher->topic->storage, range);
    for (const ObjectPtr& object : listing.objects) {
      const ObjectPtr shown = as_shown(*watcher->request.kind, object);
      auto line = std::make_shared<const std::string>(event_line("ADDED", *watcher->request.kind,
                                                                 *shown, watcher->request.rendering,
                                                                 !watcher->columns_sent));
      watcher->initial_bytes += line->size();
      watcher->columns_sent = true;
      send(*watcher, line);
    }
    watcher->seen = listing.revision;
    if (options.allow_bookmarks) send_bookmark(*watcher, true);
    return true;
  }
  if (from_now) {
    watcher->seen = store_.revision();
    return true;
  }
  watcher->seen = *needed;
  if (*needed >= store_.revision()) return true;
  auto events = store_.history(watcher->topic->storage, *needed);
  if (!events) {
    send_error(*watcher, error(Reason::Expired, fmt::format("too old resource version: {} ({})",
                                                            *needed, store_.revision())));
    return false;
  }
  for (const StoreEventPtr& event : *events)
    send_event(*watcher, event, nullptr);
  return true;
}

void WatchHub::deliver(Topic& topic, const StoreEventPtr& event) {
  Encoded encoded;
  // A watcher may leave while it is served; the list node is kept until the step is over.
  for (auto at = topic.watchers.begin(); at != topic.watchers.end();) {
    const std::shared_ptr<Watcher> watcher = *at++;
    send_event(*watcher, event, &encoded);
    if (watcher->stream->queued_bytes() > limits_.most_queued_bytes + watcher->initial_bytes) {
      ++cut_off_;
      send_error(
          *watcher,
          error(Reason::Expired,
                fmt::format("the watcher could not keep up: more than {} bytes were waiting for it",
                            limits_.most_queued_bytes)));
      watcher->stream->close();
      remove(watcher);
    }
  }
}

void WatchHub::send_event(Watcher& watcher, const StoreEventPtr& event, Encoded* encoded) {
  if (event->revision <= watcher.seen) return;
  watcher.seen = event->revision;
  const Object* matched = nullptr;
  const char* type = type_for(*event, watcher.request.selection, &matched);
  if (type == nullptr) return;
  const Kind& kind = *watcher.request.kind;
  const bool with_columns =
      !watcher.columns_sent &&
      watcher.request.rendering.representation.form == Representation::Form::Table;
  watcher.columns_sent = true;
  const std::string_view type_name = type;
  // An object that leaves the selection is shown as it last was inside it, at the revision of the
  // change.
  const bool left = type_name == "DELETED" && event->type != StoreEvent::Type::Deleted;
  // The first letter tells the types apart: ADDED, MODIFIED, DELETED.
  const uint32_t slot =
      watcher.form << 8 | static_cast<uint32_t>(type_name[0] - 'A') << 1 | (with_columns ? 1 : 0);
  if (encoded != nullptr) {
    const auto found = std::ranges::find(*encoded, slot, &Encoded::value_type::first);
    if (found != encoded->end()) return send(watcher, found->second);
  }
  ObjectPtr shown = left ? Object::with_revision(*event->previous, event->revision) : event->object;
  shown = as_shown(kind, shown);
  Rendering rendering = watcher.request.rendering;
  rendering.now = loop_.now();
  auto line = std::make_shared<const std::string>(
      event_line(type_name, kind, *shown, rendering, with_columns));
  if (encoded != nullptr) encoded->emplace_back(slot, line);
  send(watcher, line);
}

void WatchHub::send(Watcher& watcher, const SharedBytes& line) {
  watcher.stream->write(line);
}

void WatchHub::send_bookmark(Watcher& watcher, bool initial_events_end) {
  // Everything published so far has been sent, whichever kind it was of.
  watcher.seen = std::max(watcher.seen, store_.revision());
  const Kind& kind = *watcher.request.kind;
  const std::string annotations =
      initial_events_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "";
  std::string object = fmt::format(
      "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{{\"resourceVersion\":\"{}\"{}}}}}",
      kind.kind, kind.api_version(), watcher.seen, annotations);
  const Representation& form = watcher.request.rendering.representation;
  if (form.form == Representation::Form::PartialMetadata) {
    object = fmt::format(
        "{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/"
        "{}\",\"metadata\":{{\"resourceVersion\":\"{}\"{}}}}}",
        form.transform_version, watcher.seen, annotations);
  } else if (form.form == Representation::Form::Table) {
    object = fmt::format(
        "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
        "{}\",\"metadata\":{{\"resourceVersion\":\"{}\"}},\"columnDefinitions\":[],\"rows\":[{{"
        "\"cells\":[],\"object\":{}}}]}}",
        form.transform_version, watcher.seen, object);
  }
  send(watcher,
       std::make_shared<const std::string>("{\"type\":\"BOOKMARK\",\"object\":" + object + "}\n"));
}

void WatchHub::send_error(Watcher& watcher, const Error& failure) {
  send(watcher, std::make_shared<const std::string>(
                    "{\"type\":\"ERROR\",\"object\":" + to_text(status_of(failure)) + "}\n"));
}

void WatchHub::remove(const std::shared_ptr<Watcher>& watcher) {
  if (watcher->gone) return;
  watcher->gone = true;
  watcher->request.seat.reset();
  watcher->rights.reset();
  if (watcher->timeout != 0) loop_.cancel(watcher->timeout);
  Topic* topic = watcher->topic;
  topic->watchers.erase(watcher->place);
  --watchers_;
}

void WatchHub::end_watches(const std::function<bool(const WatchRequest&)>& of) {
  for (auto& [storage, topic] : topics_) {
    for (auto at = topic->watchers.begin(); at != topic->watchers.end();) {
      const std::shared_ptr<Watcher> watcher = *at++;
      if (!of(watcher->request)) continue;
      watcher->stream->close();
      remove(watcher);
    }
  }
}

void WatchHub::close_all() {
  end_watches([](const WatchRequest&) { return true; });
}

// One timer for all, and only while someone wants bookmarks.
void WatchHub::arm_bookmarks() {
  if (bookmark_timer_ != 0) return;
  bool wanted = false;
  for (const auto& [storage, topic] : topics_) {
    for (const auto& watcher : topic->watchers)
      wanted = wanted || watcher->request.options.allow_bookmarks;
  }
  if (!wanted) return;
  bookmark_timer_ = loop_.after(limits_.bookmark_period, [this] {
    bookmark_timer_ = 0;
    for (auto& [storage, topic] : topics_) {
      for (const auto& watcher : topic->watchers) {
        if (watcher->request.options.allow_bookmarks) send_bookmark(*watcher, false);
      }
    }
    arm_bookmarks();
  });
}

}  // namespace yard
