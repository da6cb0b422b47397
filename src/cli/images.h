#pragma once
// `trainyard image …`: the images of this machine, with or without a server.

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "images/store.h"

namespace yard {

struct ImageLoadOptions {
  std::string path, name;           // a name takes the place of the archive's own
  std::vector<std::string> stores;  // where `containers-storage:NAME` is looked for
};
int load_images(Terminal& terminal, ImageStore& store, const ImageLoadOptions& options);

struct ImageImportOptions {
  std::string folder, name;
  std::vector<std::string> entrypoint, command, env, volumes, labels;
  std::string working_folder, user, stop_signal;
};
int import_image(Terminal& terminal, ImageStore& store, const ImageImportOptions& options);

struct ImageListOptions {
  bool names_only = false, as_json = false;
};
int list_images(Terminal& terminal, const ImageStore& store, const ImageListOptions& options);

struct ImageRemoveOptions {
  std::vector<std::string> names;
  bool force = false;
};
int remove_images(Terminal& terminal, ImageStore& store, const std::string& state_folder,
                  const ImageRemoveOptions& options);

struct ImagePruneOptions {
  bool all = false;      // also images that no pod stands on
  std::string max_size;  // least recently used images go until the rest is below it
};
int prune_images(Terminal& terminal, ImageStore& store, const std::string& state_folder,
                 const ImagePruneOptions& options);

struct ImageSaveOptions {
  std::string name, path;
};
int save_image_as(Terminal& terminal, const ImageStore& store, const ImageSaveOptions& options);

}  // namespace yard
