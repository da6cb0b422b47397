#pragma once
// The `images` section of config.yaml: what stands in for an image on this machine.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "images/registry/registry_config.h"
#include "json/json.h"
#include "node/images/unpacked_image.h"

namespace yard {

struct ImageMount {
  std::string source, target;
  bool read_only = false;
};

// What a container of an image sees and runs. An unpacked image (rung 2) is one as well: a root
// folder with the environment, working folder and entrypoint its own configuration names.
struct ImageEntry {
  enum class Base { Host, Root, Python, Layers };
  Base base = Base::Host;
  std::string folder;  // the root folder, or the Python environment (venv, conda, uv)
  std::map<std::string, std::string> env;
  std::string working_folder;
  std::vector<std::string> entrypoint;
  std::vector<std::string> args;  // follow the entrypoint where the YAML has no args
  std::vector<ImageMount> mounts;
  std::shared_ptr<const UnpackedImage> unpacked = {};  // of Layers
};

enum class ImageFallback { Host, Refuse };
// Which goes first where there are several: an entry of the map, or the image itself, pulled where
// it is not here. `Host` leaves unpacked images alone.
enum class ImagePrefer { Map, Image, Host };

struct ImageConfig {
  std::vector<std::pair<std::string, ImageEntry>> map;  // pattern, entry; as written
  ImageFallback fallback = ImageFallback::Host;
  RegistryConfig registries;  // mirrors, authorities and what may be plain
  ImagePrefer prefer = ImagePrefer::Map;
  // Folders of podman's and docker's own images; none said: where these keep them.
  std::optional<std::vector<std::string>> stores;
  std::int64_t size_limit = 0;  // of all that was pulled or loaded; 0: none
};

// Whether `images.registries` speaks of the registry that the image names.
bool names_registry_of(const ImageConfig& config, std::string_view image);

// What is wrong, and under which keys: the reader of the file knows their line.
struct ConfigProblem {
  std::vector<std::string> path;
  std::string words;
};

// What `~`, `$HOME` and `$USER` stand for in paths and patterns.
struct HomeOf {
  std::string home, user;
};

// Reads the section; `path` of a problem begins below `images`.
std::optional<ConfigProblem> read_image_config(const Json& section, const HomeOf& home,
                                               ImageConfig& out);
// One entry of the map; also the form in which `trainyard run` leaves what it offers.
std::optional<ConfigProblem> read_image_entry(const Json& tree, const HomeOf& home,
                                              ImageEntry& out);
Json to_json(const ImageEntry& entry);

// `the Python environment /home/me/venv`: how Events and `info` call it.
std::string shown(const ImageEntry& entry);

}  // namespace yard
