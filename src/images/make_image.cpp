#include "images/make_image.h"

#include <fmt/format.h>

#include "base/time.h"
#include "images/write_tar.h"

namespace yard {
namespace {

JsonArray texts(const std::vector<std::string>& list) {
  JsonArray out;
  for (const std::string& each : list)
    out.emplace_back(each);
  return out;
}

std::string config_text(const ImageConfigFile& config, std::int64_t now) {
  JsonObject labels, volumes, run;
  for (const auto& [key, value] : config.labels)
    labels[key] = value;
  for (const std::string& each : config.volumes)
    volumes[each] = JsonObject{};
  run["Env"] = texts(config.env);
  if (!config.entrypoint.empty()) run["Entrypoint"] = texts(config.entrypoint);
  if (!config.command.empty()) run["Cmd"] = texts(config.command);
  if (!config.working_folder.empty()) run["WorkingDir"] = config.working_folder;
  if (!config.user.empty()) run["User"] = config.user;
  if (!config.stop_signal.empty()) run["StopSignal"] = config.stop_signal;
  if (!labels.empty()) run["Labels"] = std::move(labels);
  if (!volumes.empty()) run["Volumes"] = std::move(volumes);
  return to_text(
      JsonObject{{"created", rfc3339(from_unix_seconds(now))},
                 {"architecture", config.platform.architecture},
                 {"os", config.platform.os},
                 {"config", std::move(run)},
                 {"rootfs", JsonObject{{"type", "layers"}, {"diff_ids", texts(config.diff_ids)}}}});
}

BlobDescriptor described(std::string_view media_type, std::string_view bytes) {
  return {std::string(media_type), "sha256:" + sha256_hex(bytes),
          static_cast<std::int64_t>(bytes.size())};
}

}  // namespace

Result<StoredImage> import_folder(ImageStore& store, const std::string& folder,
                                  const ImportOptions& options) {
  auto intake = TRY(store.begin_layer(options.limits));
  const auto unpacked = [&]() -> Result<LayerIntake::Outcome> {
    TarWriter writer([&](std::string_view bytes) { return intake->feed(bytes); });
    TRY(write_folder(writer, folder));
    TRY(writer.finish());
    return intake->finish();
  }();
  if (!unpacked) {
    store.drop_layer(*intake);
    return unpacked.error();
  }
  TRY(store.keep_layer(*intake, *unpacked));
  IncomingImage image;
  ImageConfigFile config = options.config;
  config.diff_ids = {unpacked->diff_id};
  config.platform = machine_platform();
  image.config_bytes = config_text(config, options.now);
  image.manifest.config = described(media_types::kOciConfig, image.config_bytes);
  image.manifest.layers = {
      {std::string(media_types::kOciLayer), unpacked->diff_id, unpacked->blob_bytes}};
  image.manifest_bytes = encode(image.manifest);
  TakeOptions take;
  take.name = options.name;
  take.now = options.now;
  image.send_layer = [](std::size_t, const ByteSink&) -> Result<void> {
    return error(Reason::InternalError, "the layer that was just imported is gone");
  };
  return take_image(store, image, take);
}

Result<void> save_image(const ImageStore& store, const StoredImage& image, const ByteSink& sink) {
  TarWriter out(sink);
  TRY(out.file("oci-layout", R"({"imageLayoutVersion":"1.0.0"})"));
  ImageManifest manifest;
  ImageConfigFile config = image.config;
  config.diff_ids.clear();
  for (const std::string& diff_id : image.config.diff_ids) {
    // Twice over the same files: the archive wants the length before the bytes.
    const std::string folder = store.layer_folder(diff_id);
    Sha256 sum;
    std::int64_t size = 0;
    TarWriter measured([&](std::string_view bytes) -> Result<void> {
      sum.add(bytes);
      size += static_cast<std::int64_t>(bytes.size());
      return {};
    });
    TRY(write_folder(measured, folder));
    TRY(measured.finish());
    const std::string hex = sum.hex();
    TarEntry entry;
    entry.path = "blobs/sha256/" + hex;
    entry.mode = 0644;
    entry.size = size;
    config.diff_ids.push_back("sha256:" + hex);
    const bool is_there = std::ranges::any_of(
        manifest.layers, [&](const BlobDescriptor& each) { return each.digest.ends_with(hex); });
    manifest.layers.push_back({std::string(media_types::kOciLayer), "sha256:" + hex, size});
    if (is_there) continue;
    TRY(out.entry(entry));
    std::int64_t written = 0;
    TarWriter layer([&](std::string_view bytes) -> Result<void> {
      written += static_cast<std::int64_t>(bytes.size());
      return out.data(bytes);
    });
    TRY(write_folder(layer, folder));
    TRY(layer.finish());
    if (written != size)
      return error(Reason::Conflict, fmt::format("{} changed while it was saved", folder));
    TRY(out.end_data());
  }
  const std::string config_bytes = config_text(config, image.loaded_at);
  manifest.config = described(media_types::kOciConfig, config_bytes);
  const std::string manifest_bytes = encode(manifest);
  const BlobDescriptor whole = described(media_types::kOciManifest, manifest_bytes);
  TRY(out.file("blobs/sha256/" + std::string(digest_hex(manifest.config.digest)), config_bytes));
  TRY(out.file("blobs/sha256/" + std::string(digest_hex(whole.digest)), manifest_bytes));
  const ImageIndex index{
      {{whole, config.platform, {{"org.opencontainers.image.ref.name", image.name}}}}};
  TRY(out.file("index.json", encode(index)));
  return out.finish();
}

}  // namespace yard
