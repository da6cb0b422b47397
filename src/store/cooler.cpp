#include "store/cooler.h"

#include <algorithm>
#include <utility>

#include "base/pack.h"

namespace yard {
namespace {

constexpr size_t kVisitsPerTurn = 500;
constexpr size_t kBatch = 256;
constexpr size_t kSmallestBody = 1024;
// The sample is some of those it is for, which are neighbours by name and often much alike. For a
// few it would be longer than what it spares.
constexpr size_t kFewestForASample = 16, kSampledObjects = 3, kMostOfASample = 16 << 10;

std::string sample_of(const std::vector<ObjectPtr>& objects) {
  std::string sample;
  if (objects.size() < kFewestForASample) return sample;
  for (size_t i = 1; i <= kSampledObjects; ++i)
    sample +=
        objects[objects.size() * i / (kSampledObjects + 1)]->packable().substr(0, kMostOfASample);
  return sample;
}

}  // namespace

std::vector<ObjectPtr> cooled_together(const std::vector<ObjectPtr>& objects) {
  const auto sample = std::make_shared<const std::string>(sample_of(objects));
  Packer packer(*sample);
  std::vector<ObjectPtr> out;
  out.reserve(objects.size());
  for (const ObjectPtr& object : objects)
    out.push_back(Object::cooled(*object, packer, sample));
  return out;
}

Cooler::Cooler(Loop& loop, Tables& tables, const StoreLimits& limits, Setup setup)
    : loop_(loop),
      tables_(tables),
      limits_(limits),
      setup_(std::move(setup)),
      table_(tables.end()) {}

Cooler::~Cooler() {
  if (timer_ != 0) loop_.cancel(timer_);
}

void Cooler::consider() {
  if (timer_ != 0 || is_sweeping_) return;
  const Situation now = setup_.look();
  if (now.encoded_bytes < limits_.cold_above_bytes) return;
  // What has this revision or an older one is old enough when the time is over.
  horizon_ = now.newest;
  timer_ = loop_.after(limits_.cold_age, while_alive([this] {
                         timer_ = 0;
                         begin_sweep();
                       }));
}

void Cooler::begin_sweep() {
  is_sweeping_ = true;
  table_ = tables_.begin();
  visited_ns_ = visited_name_ = "";
  go_on();
}

void Cooler::go_on() {
  loop_.post(while_alive([this] { visit(); }));
}

void Cooler::visit() {
  if (table_ == tables_.end()) {
    is_sweeping_ = false;
    return consider();
  }
  Table& table = table_->second;
  if (visited_name_.empty()) table.forget_aged(loop_.now());
  size_t visits = 0;
  auto place = table.after({visited_ns_, visited_name_});
  for (; place != table.objects().end() && visits < kVisitsPerTurn && batch_.size() < kBatch;
       ++place, ++visits)
    visit_place(*place, table);
  const bool at_end = place == table.objects().end();
  if (visits > 0) {
    const ObjectNameView last = std::prev(place)->first.text;
    visited_ns_ = last.ns;
    visited_name_ = last.name;
  }
  if (batch_.size() >= kBatch || (at_end && !batch_.empty())) return pack_batch();
  if (at_end) end_table();
  go_on();
}

void Cooler::end_table() {
  tried_[table_->first] = std::min(horizon_, table_->second.complete_since());
  ++table_;
  visited_ns_ = visited_name_ = "";
}

void Cooler::visit_place(ObjectMap::value_type& place, Table& table) {
  if (place.second->is_thawed()) {
    Table::put(place, Object::cooled_again(*place.second));
  } else if (is_to_be_packed(*place.second, table)) {
    batch_.push_back(place.second);
  }
}

// The history holds its objects anyway.
bool Cooler::is_to_be_packed(const Object& object, const Table& table) const {
  if (object.is_cold() || object.body_size() < kSmallestBody) return false;
  if (object.revision() > std::min(horizon_, table.complete_since())) return false;
  const auto tried = tried_.find(table.storage());
  return tried == tried_.end() || object.revision() > tried->second;
}

void Cooler::pack_batch() {
  struct Work {
    std::vector<ObjectPtr> warm, cold;
  };
  auto work = std::make_shared<Work>();
  work->warm = std::exchange(batch_, {});
  loop_.run_blocking([work] { work->cold = cooled_together(work->warm); },
                     while_alive([this, work, &table = table_->second] {
                       for (size_t i = 0; i < work->cold.size(); ++i) {
                         // One that has been written meanwhile stays.
                         if (work->cold[i] && table.replace(work->warm[i], work->cold[i]))
                           setup_.replaced(*work->warm[i], *work->cold[i]);
                       }
                       go_on();
                     }));
}

}  // namespace yard
