#include "api/object_cold.h"

#include "base/check.h"
#include "base/pack.h"

namespace yard {
namespace {

// Less than this is not worth unpacking it again.
constexpr size_t kWorthPacking = 512;

// Texts one behind the other, each known by its slice.
class Texts {
 public:
  explicit Texts(std::string_view first) : all_(first) {}
  Slice add(std::string_view text, uint32_t mark) {
    const auto at = static_cast<uint32_t>(all_.size());
    all_ += text;
    return {at | mark, static_cast<uint32_t>(text.size())};
  }
  std::string_view all() const { return all_; }

 private:
  std::string all_;
};

}  // namespace

std::string Object::packable() const {
  std::string text = index();
  text += body();
  return text;
}

ObjectPtr Object::cooled(const Object& object, Packer& packer,
                         const std::shared_ptr<const std::string>& sample) {
  const Object& from = object.warm();
  const std::string text = from.packable();
  const std::string_view packed = packer.pack(text);
  if (packed.size() + kWorthPacking > from.body_.size()) return nullptr;

  Texts texts(from.type());
  const auto moved = [&](Slice slice) { return texts.add(from.text(slice), kUnescaped); };
  Facts facts = from.facts_;
  facts.name = moved(facts.name);
  facts.ns = moved(facts.ns);
  facts.uid = moved(facts.uid);
  std::vector<Label> labels(from.labels_.begin(), from.labels_.end());
  for (Label& label : labels)
    label = {moved(label.key), moved(label.value)};
  std::vector<Owner> owners(from.owners_.begin(), from.owners_.end());
  for (Owner& owner : owners) {
    for (Slice* slice : {&owner.uid, &owner.kind, &owner.name, &owner.api_version})
      *slice = moved(*slice);
  }
  const auto cold = assemble(facts, {.body = {},
                                     .revision_text = {},
                                     .body_end = {},
                                     .unescaped = texts.all(),
                                     .cells = from.cells_,
                                     .labels = labels,
                                     .owners = owners,
                                     .fields = from.fields_});
  cold->cold_ = std::make_unique<Cold>();
  cold->cold_->sample = sample;
  cold->cold_->packed = packed;
  cold->cold_->index_size = static_cast<uint32_t>(text.size() - from.body_.size());
  cold->cold_->body_size = static_cast<uint32_t>(from.body_.size());
  return cold;
}

ObjectPtr Object::cooled_again(const Object& thawed) {
  const auto cold = assemble(thawed.facts_, {.body = {},
                                             .revision_text = {},
                                             .body_end = {},
                                             .unescaped = thawed.unescaped_,
                                             .cells = thawed.cells_,
                                             .labels = thawed.labels_,
                                             .owners = thawed.owners_,
                                             .fields = thawed.fields_});
  cold->cold_ = std::make_unique<Cold>();
  cold->cold_->sample = thawed.cold_->sample;
  cold->cold_->packed = thawed.cold_->packed;
  cold->cold_->index_size = thawed.cold_->index_size;
  cold->cold_->body_size = thawed.cold_->body_size;
  return cold;
}

std::string Object::unpacked() const {
  std::string text(size_t{cold_->index_size} + cold_->body_size, '\0');
  check(unpack(cold_->packed, *cold_->sample, text.data(), text.size()),
        "a cold object holds what was packed");
  return text;
}

const Object& Object::thawed() const {
  std::call_once(cold_->once, [this] {
    const std::string text = unpacked();
    const auto [index, body] = std::pair(std::string_view(text).substr(0, cold_->index_size),
                                         std::string_view(text).substr(cold_->index_size));
    auto restored = restore(index, body);
    check(restored.has_value(), "a cold object comes back as it was");
    cold_->warm = std::move(*restored);
    cold_->is_thawed.store(true, std::memory_order_release);
  });
  return *cold_->warm;
}

bool Object::is_thawed() const {
  return is_cold() && cold_->is_thawed.load(std::memory_order_acquire);
}

size_t Object::body_size() const {
  return is_cold() ? cold_->body_size : body_.size();
}

// Of a cold one the body is unpacked for the moment alone: readers of trees come once.
Json Object::tree(JsonMemory memory) const {
  const bool is_packed = is_cold() && !is_thawed();
  const std::string text = is_packed ? unpacked() : std::string();
  const std::string_view encoded =
      is_packed ? std::string_view(text).substr(cold_->index_size) : body();
  auto parsed = parse_json(encoded, {}, std::move(memory));
  check(parsed.has_value(), "a stored object is valid JSON");
  return std::move(parsed->value);
}

size_t Object::memory() const {
  size_t bytes = sizeof(Object) + body_.size() + unescaped_.size() + cells_.size() +
                 labels_.size_bytes() + owners_.size_bytes() + fields_.size_bytes();
  for (const std::string_view field : fields_)
    bytes += field.size();
  if (is_cold()) bytes += sizeof(Cold) + cold_->packed.size();
  return bytes;
}

}  // namespace yard
