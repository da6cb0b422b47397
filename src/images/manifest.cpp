#include "images/manifest.h"

#include <algorithm>
#include <array>
#include <sys/utsname.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/json.h"

namespace yard {
namespace {

using namespace media_types;

constexpr std::size_t kMostLayers = 500, kMostManifests = 1000, kMostTexts = 10'000;
constexpr std::int64_t kMostBlobBytes = std::int64_t{1} << 42;
constexpr JsonLimits kLimits{.max_depth = 32};

Error bad(std::string message) {
  return error(Reason::Invalid, std::move(message));
}

Result<Json> parse_document(std::string_view bytes, std::string_view what, std::size_t most) {
  if (bytes.size() > most) return bad(fmt::format("the {} is over {} bytes long", what, most));
  auto parsed = parse_json(bytes, kLimits);
  if (!parsed) return bad(fmt::format("the {} is not JSON: {}", what, parsed.error().message));
  if (!parsed->value.is_object()) return bad(fmt::format("the {} is not a JSON object", what));
  return std::move(parsed->value);
}

Result<BlobDescriptor> read_descriptor(const Json& tree, std::string_view what) {
  BlobDescriptor out;
  out.media_type = text_at(tree, {"mediaType"});
  out.digest = text_at(tree, {"digest"});
  out.size = int_at(tree, {"size"}, -1);
  if (!is_digest(out.digest))
    return bad(fmt::format("the digest {} of the {} is not sha256 with 64 digits",
                           quoted(std::string_view(out.digest).substr(0, 100)), what));
  if (out.size < 0 || out.size > kMostBlobBytes)
    return bad(fmt::format("the {} {} has no sensible size", what, out.digest));
  return out;
}

// Arrays that are missing or null are empty; anything else of another type is a mistake.
Result<const JsonArray*> array_at(const Json& tree, std::string_view key, std::size_t most) {
  static const JsonArray kNone;
  const Json* found = find(tree, key);
  if (found == nullptr || found->is_null()) return &kNone;
  if (!found->is_array()) return bad(fmt::format("{} is not a list", key));
  if (found->get_array().size() > most)
    return bad(
        fmt::format("{} has {} entries, more than {}", key, found->get_array().size(), most));
  return &found->get_array();
}

Result<std::vector<std::string>> texts_at(const Json& tree, std::string_view key) {
  const JsonArray* array = TRY(array_at(tree, key, kMostTexts));
  std::vector<std::string> out;
  out.reserve(array->size());
  for (const Json& each : *array) {
    if (!each.is_string()) return bad(fmt::format("{} has an entry that is not a text", key));
    out.emplace_back(each.get_string());
  }
  return out;
}

std::map<std::string, std::string> text_map_at(const Json& tree, std::string_view key) {
  std::map<std::string, std::string> out;
  const Json* found = find(tree, key);
  if (found == nullptr || !found->is_object()) return out;
  for (const auto& [name, value] : found->get_object())
    if (value.is_string() && out.size() < kMostTexts) out.emplace(name, value.get_string());
  return out;
}

Platform read_platform(const Json& tree) {
  return {std::string(text_at(tree, {"os"})), std::string(text_at(tree, {"architecture"})),
          std::string(text_at(tree, {"variant"}))};
}

std::string shown(const Platform& platform) {
  return fmt::format("{}/{}{}{}", platform.os, platform.architecture,
                     platform.variant.empty() ? "" : "/", platform.variant);
}

JsonObject encoded(const BlobDescriptor& descriptor) {
  return {{"mediaType", descriptor.media_type},
          {"digest", descriptor.digest},
          {"size", descriptor.size}};
}

// arm64 and arm64/v8 are one; an empty variant asks for nothing.
bool fits(const Platform& offered, const Platform& wanted) {
  return offered.os == wanted.os && offered.architecture == wanted.architecture &&
         (offered.variant.empty() || wanted.variant.empty() || offered.variant == wanted.variant);
}

}  // namespace

Result<LayerPacking> layer_packing(std::string_view media_type) {
  std::string_view type = media_type;
  constexpr std::string_view kStarts[] = {"application/vnd.oci.image.layer.v1.tar",
                                          "application/vnd.oci.image.layer.nondistributable.v1.tar",
                                          "application/vnd.docker.image.rootfs.diff.tar",
                                          "application/vnd.docker.image.rootfs.foreign.diff.tar"};
  const auto* start =
      std::ranges::find_if(kStarts, [&](std::string_view each) { return type.starts_with(each); });
  if (start != std::end(kStarts)) {
    type.remove_prefix(start->size());
    if (type.empty()) return LayerPacking::None;
    if (type == "+gzip" || type == ".gzip") return LayerPacking::Gzip;
    if (type == "+zstd" || type == ".zstd") return LayerPacking::Zstd;
  }
  return bad(fmt::format("a layer has the media type {}, which is not one of an image's layers",
                         quoted(media_type.substr(0, 200))));
}

Platform machine_platform() {
  utsname names{};
  ::uname(&names);
  const std::string machine = names.machine;
  if (machine == "x86_64") return {"linux", "amd64", ""};
  if (machine == "aarch64") return {"linux", "arm64", ""};
  return {"linux", machine, ""};
}

std::span<const std::string> accepted_manifests() {
  static const std::array<std::string, 4> kAll = {std::string(kOciIndex), std::string(kOciManifest),
                                                  std::string(kDockerIndex),
                                                  std::string(kDockerManifest)};
  return kAll;
}

bool is_index_type(std::string_view media_type) {
  return media_type == kOciIndex || media_type == kDockerIndex;
}

bool is_manifest_type(std::string_view media_type) {
  return media_type == kOciManifest || media_type == kDockerManifest;
}

std::string manifest_type(std::string_view bytes) {
  const auto tree = parse_document(bytes, "manifest", kMostManifestBytes);
  if (!tree) return "";
  if (const std::string_view type = text_at(*tree, {"mediaType"}); !type.empty())
    return std::string(type);
  if (find(*tree, "manifests") != nullptr) return std::string(kOciIndex);
  return find(*tree, "layers") != nullptr ? std::string(kOciManifest) : "";
}

Result<ImageManifest> parse_manifest(std::string_view bytes) {
  const Json tree = TRY(parse_document(bytes, "manifest", kMostManifestBytes));
  if (int_at(tree, {"schemaVersion"}) != 2)
    return bad(fmt::format("the manifest has schemaVersion {}, and 2 is what can be read",
                           int_at(tree, {"schemaVersion"})));
  const Json* config = find(tree, "config");
  if (config == nullptr) return bad("the manifest names no config");
  ImageManifest out;
  out.config = TRY(read_descriptor(*config, "config"));
  const JsonArray* layers = TRY(array_at(tree, "layers", kMostLayers));
  for (const Json& each : *layers) {
    BlobDescriptor layer = TRY(read_descriptor(each, "layer"));
    out.layers.push_back(std::move(layer));
  }
  return out;
}

Result<ImageIndex> parse_index(std::string_view bytes) {
  const Json tree = TRY(parse_document(bytes, "index", kMostManifestBytes));
  const JsonArray* manifests = TRY(array_at(tree, "manifests", kMostManifests));
  ImageIndex out;
  for (const Json& each : *manifests) {
    IndexEntry entry;
    entry.manifest = TRY(read_descriptor(each, "manifest"));
    if (const Json* platform = find(each, "platform")) entry.platform = read_platform(*platform);
    entry.annotations = text_map_at(each, "annotations");
    out.manifests.push_back(std::move(entry));
  }
  return out;
}

Result<ImageConfigFile> parse_config_file(std::string_view bytes) {
  const Json tree = TRY(parse_document(bytes, "image's configuration", kMostConfigFileBytes));
  ImageConfigFile out;
  out.platform = read_platform(tree);
  static const Json kNone;
  const Json* root = find(tree, "rootfs");
  out.diff_ids = TRY(texts_at(root == nullptr ? kNone : *root, "diff_ids"));
  for (const std::string& each : out.diff_ids)
    if (!is_digest(each))
      return bad(fmt::format("the diff_id {} is not sha256 with 64 digits",
                             quoted(std::string_view(each).substr(0, 100))));
  const Json* config = find(tree, "config");
  if (config == nullptr || !config->is_object()) return out;
  out.env = TRY(texts_at(*config, "Env"));
  out.entrypoint = TRY(texts_at(*config, "Entrypoint"));
  out.command = TRY(texts_at(*config, "Cmd"));
  out.working_folder = text_at(*config, {"WorkingDir"});
  out.user = text_at(*config, {"User"});
  out.stop_signal = text_at(*config, {"StopSignal"});
  out.labels = text_map_at(*config, "Labels");
  if (const Json* volumes = find(*config, "Volumes"); volumes != nullptr && volumes->is_object())
    for (const auto& each : volumes->get_object())
      if (out.volumes.size() < kMostTexts) out.volumes.emplace_back(each.key());
  return out;
}

std::string encode(const ImageManifest& manifest) {
  JsonArray layers;
  for (const BlobDescriptor& each : manifest.layers)
    layers.push_back(encoded(each));
  return to_text(JsonObject{{"schemaVersion", 2},
                            {"mediaType", kOciManifest},
                            {"config", encoded(manifest.config)},
                            {"layers", std::move(layers)}});
}

std::string encode(const ImageIndex& index) {
  JsonArray manifests;
  for (const IndexEntry& each : index.manifests) {
    JsonObject entry = encoded(each.manifest);
    if (!each.platform.os.empty()) {
      entry["platform"] =
          JsonObject{{"os", each.platform.os}, {"architecture", each.platform.architecture}};
    }
    if (!each.annotations.empty()) {
      JsonObject annotations;
      for (const auto& [key, value] : each.annotations)
        annotations[key] = value;
      entry["annotations"] = std::move(annotations);
    }
    manifests.push_back(std::move(entry));
  }
  return to_text(JsonObject{
      {"schemaVersion", 2}, {"mediaType", kOciIndex}, {"manifests", std::move(manifests)}});
}

bool is_digest(std::string_view digest) {
  return digest.size() == 71 && digest.starts_with("sha256:") &&
         digest.find_first_not_of("0123456789abcdef", 7) == std::string_view::npos;
}

std::string_view digest_hex(std::string_view digest) {
  check(is_digest(digest), "a digest was checked when it was read");
  return digest.substr(7);
}

Result<BlobDescriptor> choose_platform(const ImageIndex& index, const Platform& wanted) {
  std::vector<std::string> offered;
  for (const IndexEntry& each : index.manifests) {
    if (fits(each.platform, wanted)) return each.manifest;
    if (!each.platform.os.empty() && each.platform.os != "unknown")
      offered.push_back(shown(each.platform));
  }
  if (index.manifests.size() == 1 && index.manifests[0].platform.os.empty())
    return index.manifests[0].manifest;
  return error(Reason::NotFound,
               fmt::format("no image for platform {}: there {}", shown(wanted),
                           offered.empty() ? "is none for any" : "are " + join(offered, ", ")));
}

}  // namespace yard
