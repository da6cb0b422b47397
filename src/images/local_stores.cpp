#include "images/local_stores.h"

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "images/small_files.h"
#include "images/tar_split.h"
#include "json/json.h"

namespace yard {
namespace {

constexpr std::size_t kMostIndexBytes = 16u << 20, kMostLayers = 200;
// `me/app` built by podman is `localhost/me/app` to it.
constexpr std::string_view kLocalHost = "localhost/";

// One unpacked layer of a store: its files, and the list that makes a stream of them again.
struct LocalLayer {
  std::string folder, list;
  std::int64_t bytes = 0;
};

Result<Json> read_tree(const std::string& path) {
  const std::string text = TRY(read_small_file(path, kMostIndexBytes));
  ParsedJson parsed = TRY(parse_json(text, {.max_depth = 32}));
  return std::move(parsed.value);
}

bool is_id(std::string_view id) {
  return id.size() == 64 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Names of files that hold more than letters and digits are written so.
std::string file_of_key(const std::string& key) {
  return "=" + base64_encode(key);
}

// --- containers-storage

// The layers below a top one, the lowest first.
Result<std::vector<LocalLayer>> podman_layers(const std::string& folder, const std::string& driver,
                                              std::string id) {
  const Json listed = TRY(read_tree(fmt::format("{0}/{1}-layers/layers.json", folder, driver)));
  if (!listed.is_array()) return error(Reason::Invalid, "layers.json is no list");
  std::map<std::string_view, const Json*> by_id;
  for (const Json& each : listed.get_array())
    by_id.emplace(text_at(each, {"id"}), &each);
  std::vector<LocalLayer> out;
  while (!id.empty()) {
    const auto found = by_id.find(id);
    if (!is_id(id) || found == by_id.end() || out.size() == kMostLayers)
      return error(Reason::NotFound, fmt::format("{} has not all layers of the image", folder));
    out.push_back({driver == "vfs" ? fmt::format("{}/vfs/dir/{}", folder, id)
                                   : fmt::format("{}/{}/{}/diff", folder, driver, id),
                   fmt::format("{}/{}-layers/{}.tar-split.gz", folder, driver, id),
                   int_at(*found->second, {"diff-size"})});
    id = text_at(*found->second, {"parent"});
  }
  std::ranges::reverse(out);
  return out;
}

// --- docker

// A layer is named by all that lie below it.
Result<std::vector<LocalLayer>> docker_layers(const std::string& folder,
                                              const std::vector<std::string>& diff_ids) {
  std::vector<LocalLayer> out;
  std::string chain;
  for (const std::string& diff_id : diff_ids) {
    chain = chain.empty() ? diff_id : "sha256:" + sha256_hex(chain + " " + diff_id);
    const std::string about =
        fmt::format("{}/image/overlay2/layerdb/sha256/{}", folder, digest_hex(chain));
    const std::string id = TRY(read_small_file(about + "/cache-id", 256));
    if (id.empty() || id.find('/') != std::string::npos || id.starts_with('.'))
      return error(Reason::Invalid, fmt::format("{} names no layer", about));
    const auto size = read_small_file(about + "/size", 256);
    out.push_back({fmt::format("{}/overlay2/{}/diff", folder, trim(id)),
                   about + "/tar-split.json.gz", size ? parse_int64(trim(*size)).value_or(0) : 0});
  }
  return out;
}

bool names_a_host(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() < name.size() &&
         (first == "localhost" || first.find_first_of(".:") != std::string_view::npos);
}

}  // namespace

std::vector<std::string> usual_local_stores(const std::string& home,
                                            const std::string& data_folder) {
  std::vector<std::string> out;
  const std::string data = !data_folder.empty() ? data_folder
                           : !home.empty()      ? home + "/.local/share"
                                                : "";
  if (!data.empty()) out = {data + "/containers/storage", data + "/docker"};
  out.insert(out.end(), {"/var/lib/containers/storage", "/var/lib/docker"});
  return out;
}

LocalStores::LocalStores(std::vector<std::string> folders) {
  for (const std::string& folder : folders) {
    for (const char* driver : {"overlay", "vfs"})
      stores_.push_back({folder, fmt::format("{}/{}-images/images.json", folder, driver), driver});
    stores_.push_back({folder, folder + "/image/overlay2/repositories.json", ""});
  }
}

void LocalStores::refresh(Store& store) {
  struct stat facts {};
  if (::stat(store.index.c_str(), &facts) != 0) facts.st_mtim = {};
  if (facts.st_mtim.tv_sec == store.seen.tv_sec && facts.st_mtim.tv_nsec == store.seen.tv_nsec)
    return;
  store.seen = facts.st_mtim;
  store.images.clear();
  const auto tree = read_tree(store.index);
  if (!tree) return;
  const auto keep = [&](std::string name, std::string_view id, std::string_view layer) {
    if (is_id(id))
      store.images[std::move(name)] = {fmt::format("sha256:{}", id), std::string(layer)};
  };
  if (!store.driver.empty() && tree->is_array()) {
    for (const Json& image : tree->get_array()) {
      const Json* names = yard::find(image, "names");
      if (names == nullptr || !names->is_array()) continue;  // built and never named
      for (const Json& each : names->get_array()) {
        if (!each.is_string()) continue;
        const std::string name = full_image_name(each.get_string());
        keep(name, text_at(image, {"id"}), text_at(image, {"layer"}));
        keep(fmt::format("{}@{}", repository_of(name), text_at(image, {"digest"})),
             text_at(image, {"id"}), text_at(image, {"layer"}));
      }
    }
  } else if (const Json* repositories = yard::find(*tree, "Repositories");
             repositories != nullptr && repositories->is_object()) {
    for (const auto& repository : repositories->get_object()) {
      if (!repository.value().is_object()) continue;
      for (const auto& each : repository.value().get_object())
        if (each.value().is_string())
          keep(full_image_name(each.key()), digest_hex(each.value().get_string()), "");
    }
  }
}

std::optional<LocalStores::Place> LocalStores::place_of(std::string_view image) {
  const std::string name = full_image_name(image);
  std::string_view missing;  // most machines have none of these folders: each is asked for once
  for (Store& store : stores_) {
    if (store.folder != missing && access(store.folder.c_str(), F_OK) != 0) missing = store.folder;
    if (store.folder == missing) {
      store.seen = {};
      store.images.clear();
      continue;
    }
    refresh(store);
    auto found = store.images.find(name);
    if (found == store.images.end() && !names_a_host(name))
      found = store.images.find(std::string(kLocalHost) + name);
    if (found != store.images.end()) return Place{&store, found->second};
  }
  return std::nullopt;
}

std::string LocalStores::find(std::string_view image) {
  const auto place = place_of(image);
  return place ? place->kept.config_digest : "";
}

Result<std::optional<IncomingImage>> LocalStores::open(std::string_view image) {
  const auto place = place_of(image);
  if (!place) return std::optional<IncomingImage>();
  const Store& store = *place->store;
  const std::string& digest = place->kept.config_digest;
  const bool is_docker = store.driver.empty();
  const std::string config_file =
      is_docker ? fmt::format("{}/image/overlay2/imagedb/content/sha256/{}", store.folder,
                              digest_hex(digest))
                : fmt::format("{}/{}-images/{}/{}", store.folder, store.driver, digest_hex(digest),
                              file_of_key(digest));
  std::string config = TRY(read_small_file(config_file, kMostConfigFileBytes));
  std::vector<LocalLayer> layers;
  if (is_docker) {
    const ImageConfigFile parsed = TRY(parse_config_file(config));
    layers = TRY(docker_layers(store.folder, parsed.diff_ids));
  } else {
    layers = TRY(podman_layers(store.folder, store.driver, place->kept.top_layer));
  }
  std::vector<std::int64_t> sizes;
  for (const LocalLayer& each : layers)
    sizes.push_back(each.bytes);
  IncomingImage out = TRY(image_of_plain_layers(std::move(config), sizes));
  out.send_layer = [layers = std::move(layers)](std::size_t layer, const ByteSink& sink) {
    return send_tar_split(layers.at(layer).list, layers.at(layer).folder, sink);
  };
  return std::optional<IncomingImage>(std::move(out));
}

}  // namespace yard
