#include "images/stored_image.h"

#include <algorithm>

#include <fmt/format.h>

namespace yard {
namespace {

constexpr std::size_t kLayerIdDigits = 16;
constexpr int kVersion = 1;

constexpr std::string_view kOrigins[] = {"loaded", "registry", "store"};  // as ImageOrigin

// An older file says only whether it was a registry.
ImageOrigin origin_of(const Json& tree) {
  const auto* found = std::ranges::find(kOrigins, text_at(tree, {"origin"}));
  if (found != std::end(kOrigins)) return static_cast<ImageOrigin>(found - kOrigins);
  return bool_at(tree, {"fromRegistry"}) ? ImageOrigin::Registry : ImageOrigin::Loaded;
}

JsonArray texts(const std::vector<std::string>& list) {
  JsonArray out;
  for (const std::string& each : list)
    out.emplace_back(each);
  return out;
}

JsonObject text_set(const std::vector<std::string>& list) {
  JsonObject out;
  for (const std::string& each : list)
    out[each] = JsonObject{};
  return out;
}

}  // namespace

// The configuration is kept in the words of image configurations, so that one reader reads both.
Json to_json(const StoredImage& image) {
  const ImageConfigFile& config = image.config;
  JsonObject labels;
  for (const auto& [key, value] : config.labels)
    labels[key] = value;
  return JsonObject{
      {"version", kVersion},
      {"name", image.name},
      {"manifest", image.manifest_digest},
      {"configuration", image.config_digest},
      {"index", image.index_digest},
      {"origin", kOrigins[static_cast<std::size_t>(image.origin)]},
      {"packedBytes", image.packed_bytes},
      {"bytes", image.bytes},
      {"loadedAt", image.loaded_at},
      {"notes", JsonObject{{"devices", image.notes.devices},
                           {"owners", image.notes.owners},
                           {"attributes", image.notes.attributes}}},
      {"os", config.platform.os},
      {"architecture", config.platform.architecture},
      {"config", JsonObject{{"Env", texts(config.env)},
                            {"Entrypoint", texts(config.entrypoint)},
                            {"Cmd", texts(config.command)},
                            {"WorkingDir", config.working_folder},
                            {"User", config.user},
                            {"StopSignal", config.stop_signal},
                            {"Volumes", text_set(config.volumes)},
                            {"Labels", std::move(labels)}}},
      {"rootfs", JsonObject{{"type", "layers"}, {"diff_ids", texts(config.diff_ids)}}}};
}

std::optional<StoredImage> read_stored_image(std::string_view text) {
  auto config = parse_config_file(text);
  const auto parsed = parse_json(text);
  if (!config || !parsed || int_at(parsed->value, {"version"}) != kVersion) return std::nullopt;
  const Json& tree = parsed->value;
  StoredImage out;
  out.name = text_at(tree, {"name"});
  out.manifest_digest = text_at(tree, {"manifest"});
  out.config_digest = text_at(tree, {"configuration"});
  if (out.name.empty() || !is_digest(out.manifest_digest) || !is_digest(out.config_digest))
    return std::nullopt;
  out.origin = origin_of(tree);
  out.index_digest = text_at(tree, {"index"});
  out.packed_bytes = int_at(tree, {"packedBytes"});
  out.bytes = int_at(tree, {"bytes"});
  out.loaded_at = int_at(tree, {"loadedAt"});
  out.notes = {int_at(tree, {"notes", "devices"}), int_at(tree, {"notes", "owners"}),
               int_at(tree, {"notes", "attributes"})};
  out.config = std::move(*config);
  return out;
}

std::string full_image_name(std::string_view name) {
  constexpr std::string_view kAssumed[] = {"docker.io/"};
  for (const std::string_view prefix : kAssumed) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  constexpr std::string_view kLibrary = "library/";
  if (name.starts_with(kLibrary) && name.find('/', kLibrary.size()) == std::string_view::npos)
    name.remove_prefix(kLibrary.size());
  if (name.find('@') != std::string_view::npos) return std::string(name);
  const std::size_t slash = name.rfind('/'), colon = name.rfind(':');
  const bool has_tag =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return has_tag ? std::string(name) : fmt::format("{}:latest", name);
}

std::string repository_of(std::string_view name) {
  name = name.substr(0, name.find('@'));
  const std::size_t slash = name.rfind('/'), colon = name.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash))
    name = name.substr(0, colon);
  return std::string(name);
}

std::string image_id_of(const StoredImage& image) {
  if (image.origin != ImageOrigin::Registry) return image.config_digest;
  return fmt::format("{}@{}", repository_of(image.name), tagged_digest(image));
}

std::string layer_id(std::string_view diff_id) {
  return std::string(digest_hex(diff_id).substr(0, kLayerIdDigits));
}

std::vector<std::string> lower_folders(const std::vector<std::string>& diff_ids) {
  std::vector<std::string> out;
  for (auto each = diff_ids.rbegin(); each != diff_ids.rend(); ++each) {
    std::string folder = layer_id(*each) + "/r";
    if (std::ranges::find(out, folder) == out.end()) out.push_back(std::move(folder));
  }
  return out;
}

}  // namespace yard
