#include "store/table.h"

#include <algorithm>

namespace yard {
namespace {

// Takes objects in key order and cuts the page.
class Page {
 public:
  Page(const ListRange& range, Revision revision) : range_(range) { listing_.revision = revision; }

  // False: the page is known to be whole, nothing further can change it.
  bool add(const ObjectPtr& object) {
    if (range_.matches && !range_.matches(*object)) return true;
    if (range_.limit == 0 || listing_.objects.size() < range_.limit) {
      listing_.objects.push_back(object);
      return true;
    }
    listing_.more = true;
    // How many are left is only told without a selector, where it is no more than counting.
    if (range_.matches) return false;
    ++listing_.remaining;
    return true;
  }
  void expect(size_t objects) {
    if (range_.limit == 0 && !range_.matches) listing_.objects.reserve(objects);
  }
  Listing finish() { return std::move(listing_); }

 private:
  const ListRange& range_;
  Listing listing_;
};

bool is_in(const ListRange& range, ObjectNameView name) {
  if (!range.ns.empty() && name.ns != range.ns) return false;
  if (range.after_ns.empty() && range.after_name.empty()) return true;
  return ObjectNameView{range.after_ns, range.after_name} < name;
}

ObjectNameView name_of(const Object& object) {
  return {object.ns(), object.name()};
}

size_t superseded_bytes(const StoreEvent& event) {
  size_t bytes = sizeof(StoreEvent);
  // A cold one may be unpacked by who reads the history.
  if (event.previous) bytes += std::max(event.previous->memory(), event.previous->body_size());
  if (event.type == StoreEvent::Type::Deleted) bytes += event.object->memory();
  return bytes;
}

Error expired() {
  return error(Reason::Expired, "");
}

}  // namespace

ObjectPtr Table::find(ObjectNameView name) const {
  const auto found = objects_.find(name);
  return found == objects_.end() ? nullptr : found->second;
}

ObjectMap::iterator Table::place(ObjectNameView name, bool make) {
  if (!make) return objects_.find(name);
  // Objects often come in key order: the hint makes that a single comparison.
  return objects_.try_emplace(objects_.end(), ObjectName{name});
}

void Table::put(ObjectMap::value_type& place, ObjectPtr object) {
  place.first.text = name_of(*object);
  place.second = std::move(object);
}

bool Table::replace(const ObjectPtr& object, const ObjectPtr& other) {
  const auto place = objects_.find(name_of(*object));
  if (place == objects_.end() || place->second != object) return false;
  put(*place, other);
  return true;
}

void Table::remember(StoreEventPtr event, Time now) {
  const size_t bytes = superseded_bytes(*event);
  ring_bytes_ += bytes;
  ring_.push_back({std::move(event), bytes, now});
  while (ring_.size() > limits_.history_events ||
         (ring_bytes_ > limits_.history_bytes && ring_.size() > 1)) {
    forget_oldest();
  }
  forget_aged(now);
}

void Table::forget_aged(Time now) {
  while (ring_.size() > kKeptWhateverAge && ring_.front().at + limits_.history_age < now)
    forget_oldest();
}

void Table::forget_oldest() {
  complete_since_ = ring_.front().event->revision;
  ring_bytes_ -= ring_.front().bytes;
  ring_.pop_front();
}

void Table::forget_through(Revision revision) {
  while (!ring_.empty() && ring_.front().event->revision <= revision)
    forget_oldest();
  complete_since_ = std::max(complete_since_, revision);
}

std::pair<ObjectMap::const_iterator, ObjectMap::const_iterator> Table::bounds(
    const ListRange& range) const {
  auto first = objects_.begin();
  auto last = objects_.end();
  const ObjectNameView after{range.after_ns, range.after_name};
  if (!range.ns.empty()) {
    first = objects_.lower_bound(ObjectNameView{range.ns, ""});
    // No namespace contains a NUL, so this is the least text above every name of it.
    last = objects_.lower_bound(ObjectNameView{range.ns + '\0', ""});
  }
  if (after > ObjectNameView{range.ns, ""}) first = objects_.upper_bound(after);
  if (!range.ns.empty() && range.after_ns > range.ns) first = last;
  return {first, last};
}

Listing Table::list(const ListRange& range, Revision revision) const {
  Page page(range, revision);
  page.expect(objects_.size());
  const auto [first, last] = bounds(range);
  for (auto at = first; at != last; ++at) {
    if (!page.add(at->second)) break;
  }
  return page.finish();
}

std::deque<Table::Remembered>::const_iterator Table::first_after(Revision revision) const {
  return std::ranges::upper_bound(ring_, revision, {},
                                  [](const Remembered& one) { return one.event->revision; });
}

Result<Listing> Table::list_at(const ListRange& range, Revision revision) const {
  if (revision < complete_since_) return expired();
  // The first event of a key after `revision` knows what was there at `revision`.
  std::map<ObjectNameView, ObjectPtr> then;
  for (auto at = first_after(revision); at != ring_.end(); ++at) {
    const ObjectNameView name = name_of(*at->event->object);
    if (is_in(range, name)) then.try_emplace(name, at->event->previous);
  }
  Page page(range, revision);
  const auto [first, last] = bounds(range);
  auto now_at = first;
  auto then_at = then.begin();
  bool wants_more = true;
  while (wants_more && (now_at != last || then_at != then.end())) {
    const bool take_then =
        then_at != then.end() &&
        (now_at == last || then_at->first <= ObjectNameLess::view(now_at->first));
    if (!take_then) {
      wants_more = page.add((now_at++)->second);
      continue;
    }
    if (now_at != last && then_at->first == ObjectNameLess::view(now_at->first)) ++now_at;
    if (then_at->second) wants_more = page.add(then_at->second);
    ++then_at;
  }
  return page.finish();
}

Result<std::vector<StoreEventPtr>> Table::history(Revision since) const {
  if (since < complete_since_) return expired();
  std::vector<StoreEventPtr> events;
  const auto first = first_after(since);
  events.reserve(static_cast<size_t>(ring_.end() - first));
  for (auto at = first; at != ring_.end(); ++at)
    events.push_back(at->event);
  return events;
}

}  // namespace yard
