#include "images/archive.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"
#include "images/archive_files.h"
#include "json/json.h"

namespace yard {
namespace {

using Files = std::shared_ptr<const ArchiveFiles>;

constexpr std::size_t kMostImages = 100;
constexpr int kMostIndexDepth = 3;

std::string blob_path(const BlobDescriptor& blob) {
  return fmt::format("blobs/sha256/{}", digest_hex(blob.digest));
}

// --- docker save

Result<ArchivedImage> docker_image(const Files& files, const Json& tree) {
  ArchivedImage out;
  if (const Json* tags = find(tree, "RepoTags"); tags != nullptr && tags->is_array())
    for (const Json& each : tags->get_array())
      if (each.is_string()) out.names.emplace_back(each.get_string());
  std::string config =
      TRY(files->read(std::string(text_at(tree, {"Config"})), kMostConfigFileBytes));
  const Json* layers = find(tree, "Layers");
  if (layers == nullptr || !layers->is_array())
    return error(Reason::Invalid, "manifest.json names no layers");
  std::vector<std::string> paths;
  std::vector<std::int64_t> sizes;
  for (const Json& path : layers->get_array()) {
    if (!path.is_string())
      return error(Reason::Invalid, "manifest.json has a layer that is no text");
    paths.emplace_back(path.get_string());
    if (!files->has(paths.back()))
      return error(Reason::Invalid,
                   fmt::format("the archive has no {}", yard::quoted(paths.back())));
    sizes.push_back(files->size(paths.back()));
  }
  out.image = TRY(image_of_plain_layers(std::move(config), sizes));
  out.image.send_layer = [files, paths](std::size_t layer, const ByteSink& sink) {
    return files->send(paths.at(layer), sink);
  };
  return out;
}

Result<std::vector<ArchivedImage>> docker_images(const Files& files) {
  const std::string text = TRY(files->read("manifest.json", kMostManifestBytes));
  const auto parsed = parse_json(text, {.max_depth = 32});
  if (!parsed || !parsed->value.is_array() || parsed->value.get_array().size() > kMostImages)
    return error(Reason::Invalid, "manifest.json of the archive is not a list of images");
  std::vector<ArchivedImage> out;
  for (const Json& each : parsed->value.get_array()) {
    ArchivedImage image = TRY(docker_image(files, each));
    out.push_back(std::move(image));
  }
  return out;
}

// --- OCI layout

Result<std::string> checked_blob(const Files& files, const BlobDescriptor& blob, std::size_t most) {
  std::string bytes = TRY(files->read(blob_path(blob), most));
  if (const std::string digest = "sha256:" + sha256_hex(bytes); digest != blob.digest)
    return error(Reason::Invalid,
                 fmt::format("the archive's blob {} has the digest {}", blob.digest, digest));
  return bytes;
}

Result<IncomingImage> layout_image(const Files& files, BlobDescriptor blob) {
  IncomingImage out;
  for (int depth = 0;; ++depth) {
    out.manifest_bytes = TRY(checked_blob(files, blob, kMostManifestBytes));
    const std::string type =
        blob.media_type.empty() ? manifest_type(out.manifest_bytes) : blob.media_type;
    if (is_manifest_type(type)) break;
    if (!is_index_type(type) || depth == kMostIndexDepth)
      return error(Reason::Invalid,
                   fmt::format("the archive has a manifest of the type {}, which is "
                               "not an image's",
                               yard::quoted(type.substr(0, 200))));
    const ImageIndex index = TRY(parse_index(out.manifest_bytes));
    blob = TRY(choose_platform(index, machine_platform()));
  }
  out.manifest = TRY(parse_manifest(out.manifest_bytes));
  out.config_bytes = TRY(files->read(blob_path(out.manifest.config), kMostConfigFileBytes));
  out.send_layer = [files, layers = out.manifest.layers](std::size_t layer, const ByteSink& sink) {
    return files->send(blob_path(layers.at(layer)), sink);
  };
  return out;
}

// Some tools write the whole name as annotation, some only the tag.
std::vector<std::string> layout_names(const IndexEntry& entry, const std::string& stem) {
  for (const char* key : {"io.containerd.image.name", "org.opencontainers.image.ref.name"}) {
    const auto found = entry.annotations.find(key);
    if (found == entry.annotations.end() || found->second.empty()) continue;
    const std::string& name = found->second;
    return {name.find_first_of(":/") != std::string::npos ? name
                                                          : fmt::format("{}:{}", stem, name)};
  }
  return {};
}

Result<std::vector<ArchivedImage>> layout_images(const Files& files, const std::string& stem) {
  const std::string text = TRY(files->read("index.json", kMostManifestBytes));
  const ImageIndex index = TRY(parse_index(text));
  if (index.manifests.size() > kMostImages)
    return error(Reason::Invalid, "the archive has too many images");
  std::vector<ArchivedImage> out;
  const Platform machine = machine_platform();
  for (const IndexEntry& each : index.manifests) {
    const bool is_foreign =
        !each.platform.os.empty() && index.manifests.size() > 1 &&
        (each.platform.os != machine.os || each.platform.architecture != machine.architecture);
    if (is_foreign) continue;
    ArchivedImage image;
    image.names = layout_names(each, stem);
    image.image = TRY(layout_image(files, each.manifest));
    out.push_back(std::move(image));
  }
  return out;
}

}  // namespace

Result<std::vector<ArchivedImage>> read_archive(const std::string& path,
                                                const std::string& scratch_folder) {
  const Files files = TRY(open_archive(path, scratch_folder));
  if (files->has("manifest.json")) return docker_images(files);
  if (files->has("index.json")) {
    std::string stem = std::filesystem::path(path).lexically_normal().filename().string();
    if (stem.empty())
      stem = std::filesystem::path(path).lexically_normal().parent_path().filename().string();
    return layout_images(files, lower(stem.substr(0, stem.find('.'))));
  }
  return error(
      Reason::Invalid,
      fmt::format("{} is neither an OCI layout (no index.json) nor a docker archive (no "
                  "manifest.json); a plain folder of files is for `trainyard image import`",
                  path));
}

}  // namespace yard
