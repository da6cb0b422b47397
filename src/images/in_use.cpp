#include "images/in_use.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "images/small_files.h"

namespace yard {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostLaunchBytes = 8u << 20;

Json read_tree(const std::string& path) {
  const auto text = read_small_file(path, kMostLaunchBytes);
  auto parsed = text ? parse_json(*text) : Result<ParsedJson>(text.error());
  return parsed ? std::move(parsed->value) : Json();
}

std::int64_t sum_of(const std::vector<const StoredImage*>& images,
                    const std::map<std::string, std::int64_t>& layer_bytes) {
  std::set<std::string> layers;
  for (const StoredImage* image : images)
    for (const std::string& each : image->config.diff_ids)
      layers.insert(layer_id(each));
  std::int64_t out = 0;
  for (const std::string& each : layers)
    if (const auto found = layer_bytes.find(each); found != layer_bytes.end()) out += found->second;
  return out;
}

void note_layers(const std::string& folder, const std::string& holder, LayersInUse& out) {
  std::error_code unreadable;
  for (fs::directory_iterator file(folder, unreadable), last; !unreadable && file != last;
       file.increment(unreadable)) {
    if (file->path().extension() != ".json") continue;
    const Json tree = read_tree(file->path().string());
    const Json* layers = find(tree, "layers");
    if (layers == nullptr || !layers->is_array()) continue;
    for (const Json& each : layers->get_array()) {
      if (!each.is_string()) continue;
      const std::string_view path = each.get_string();
      std::string layer(path.substr(0, path.find('/')));
      out.holders.emplace(layer, holder);
      out.layers.insert(std::move(layer));
    }
  }
}

}  // namespace

LayersInUse layers_in_use(const std::string& state_folder) {
  LayersInUse out;
  std::error_code failed;
  for (fs::directory_iterator pod(state_folder + "/run", failed), end; !failed && pod != end;
       pod.increment(failed)) {
    const std::string folder = pod->path().string();
    const Json launch = read_tree(folder + "/launch.json");
    const std::string holder =
        fmt::format("{}/{}", text_at(launch, {"namespace"}), text_at(launch, {"pod"}));
    note_layers(folder, holder, out);
    // What a run is told may lie in memory.
    if (const std::string transient(text_at(launch, {"transientFolder"}));
        !transient.empty() && transient != folder)
      note_layers(transient, holder, out);
  }
  return out;
}

// The uppermost layer decides: those below may be shared with other images.
std::string holder_of(const StoredImage& image, const LayersInUse& in_use) {
  if (image.config.diff_ids.empty()) return "";
  const auto found = in_use.holders.find(layer_id(image.config.diff_ids.back()));
  return found == in_use.holders.end() ? "" : found->second;
}

std::vector<std::string> images_to_drop(const std::vector<StoredImage>& images,
                                        const std::map<std::string, std::int64_t>& layer_bytes,
                                        const LayersInUse& in_use, const RoomWanted& room) {
  std::vector<const StoredImage*> kept;
  for (const StoredImage& each : images)
    kept.push_back(&each);
  std::ranges::stable_sort(kept, {}, [](const StoredImage* each) { return each->used_at; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kept.size() && sum_of(kept, layer_bytes) > room.most_bytes;) {
    const StoredImage& image = *kept[i];
    if (image.name == room.spared || image.used_at > room.spared_since ||
        !holder_of(image, in_use).empty()) {
      ++i;
      continue;
    }
    out.push_back(image.name);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

}  // namespace yard
