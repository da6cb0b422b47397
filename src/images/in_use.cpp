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

}  // namespace

LayersInUse layers_in_use(const std::string& state_folder) {
  LayersInUse out;
  std::error_code failed;
  for (fs::directory_iterator pod(state_folder + "/run", failed), end; !failed && pod != end;
       pod.increment(failed)) {
    std::error_code unreadable;
    std::string holder;
    for (fs::directory_iterator file(pod->path(), unreadable), last; !unreadable && file != last;
         file.increment(unreadable)) {
      if (file->path().extension() != ".json") continue;
      const Json tree = read_tree(file->path().string());
      const Json* layers = find(tree, "layers");
      if (layers == nullptr || !layers->is_array() || layers->get_array().empty()) continue;
      if (holder.empty()) {
        const Json launch = read_tree(pod->path().string() + "/launch.json");
        holder = fmt::format("{}/{}", text_at(launch, {"namespace"}), text_at(launch, {"pod"}));
      }
      for (const Json& each : layers->get_array()) {
        if (!each.is_string()) continue;
        const std::string_view folder = each.get_string();
        std::string layer(folder.substr(0, folder.find('/')));
        out.holders.emplace(layer, holder);
        out.layers.insert(std::move(layer));
      }
    }
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
                                        const LayersInUse& in_use, std::int64_t most_bytes) {
  std::vector<const StoredImage*> kept;
  for (const StoredImage& each : images)
    kept.push_back(&each);
  std::ranges::stable_sort(kept, {}, [](const StoredImage* each) { return each->used_at; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kept.size() && sum_of(kept, layer_bytes) > most_bytes;) {
    if (!holder_of(*kept[i], in_use).empty()) {
      ++i;
      continue;
    }
    out.push_back(kept[i]->name);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

}  // namespace yard
