#include "cli/images.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "api/core/resources.h"
#include "base/byte_size.h"
#include "base/strings.h"
#include "cli/info.h"
#include "cli/table.h"
#include "images/archive.h"
#include "images/in_use.h"
#include "images/local_stores.h"
#include "images/make_image.h"
#include "images/registry/registry_fault.h"

namespace yard {
namespace {

// What an ordinary user could not keep of the layers is said where the image is made.
void print_notes(Terminal& terminal, const StoredImage& image) {
  const UnpackNotes& notes = image.notes;
  if (notes.devices > 0)
    terminal.err << fmt::format(
        "note: {} device nodes were left out: pods get theirs from the node\n", notes.devices);
  if (notes.owners > 0)
    terminal.err << fmt::format(
        "note: {} files of other owners belong to you: an ordinary user cannot give files "
        "away\n",
        notes.owners);
  if (notes.attributes > 0)
    terminal.err << fmt::format("note: {} extended attributes were left out\n", notes.attributes);
}

void print_loaded(Terminal& terminal, const StoredImage& image) {
  terminal.out << fmt::format("loaded {} ({} layers, {})\n", image.name,
                              image.config.diff_ids.size(),
                              byte_size(static_cast<uint64_t>(image.bytes)));
  print_notes(terminal, image);
}

// An archive, or what podman or docker have in their own folders.
Result<std::vector<ArchivedImage>> images_at(const ImageStore& store,
                                             const ImageLoadOptions& options) {
  for (const std::string_view prefix : {"containers-storage:", "docker-daemon:"}) {
    if (!options.path.starts_with(prefix)) continue;
    const std::string name = options.path.substr(prefix.size());
    auto image = TRY(LocalStores(options.stores).open(name));
    if (!image)
      return error(Reason::NotFound,
                   fmt::format("neither podman nor docker has {} in a folder that can be read "
                               "(images.stores in config.yaml names others)",
                               quoted(name)));
    std::vector<ArchivedImage> out;
    out.push_back({{name}, std::move(*image)});
    return out;
  }
  return read_archive(options.path, store.folder() + "/staging");
}

Result<void> load(Terminal& terminal, ImageStore& store, const ImageLoadOptions& options) {
  TRY(store.recover());
  const Descriptor lock = TRY(store.lock_shared());
  std::vector<ArchivedImage> images = TRY(images_at(store, options));
  if (images.empty())
    return error(Reason::NotFound, fmt::format("{} holds no image for this machine", options.path));
  if (!options.name.empty() && images.size() > 1)
    return error(Reason::Invalid, fmt::format("{} holds {} images: --name can name only one",
                                              options.path, images.size()));
  for (ArchivedImage& each : images) {
    if (!options.name.empty()) each.names = {options.name};
    if (each.names.empty())
      return error(Reason::Invalid,
                   fmt::format("{} does not say how its image is called: give it --name NAME",
                               options.path));
    for (const std::string& name : each.names) {
      TakeOptions take;
      take.name = name;
      take.now = unix_seconds(terminal.now);
      print_loaded(terminal, TRY(take_image(store, each.image, take)));
    }
  }
  return {};
}

Result<void> import(Terminal& terminal, ImageStore& store, const ImageImportOptions& options) {
  TRY(store.recover());
  const Descriptor lock = TRY(store.lock_shared());
  ImportOptions make;
  make.name = options.name;
  make.now = unix_seconds(terminal.now);
  make.config.env = options.env;
  for (const std::string& each : options.env)
    if (each.find('=') == std::string::npos)
      return error(Reason::Invalid, fmt::format("--env {} must be NAME=VALUE", quoted(each)));
  make.config.entrypoint = options.entrypoint;
  make.config.command = options.command;
  make.config.working_folder = options.working_folder;
  make.config.user = options.user;
  make.config.stop_signal = options.stop_signal;
  make.config.volumes = options.volumes;
  for (const std::string& each : options.labels) {
    const std::size_t equals = each.find('=');
    make.config.labels[each.substr(0, equals)] =
        equals == std::string::npos ? "" : each.substr(equals + 1);
  }
  print_loaded(terminal, TRY(import_folder(store, options.folder, make)));
  return {};
}

Result<void> collect(Terminal& terminal, ImageStore& store, const std::string& state_folder) {
  const Descriptor lock = TRY(store.lock_alone());
  const auto removed = TRY(store.collect(layers_in_use(state_folder).layers));
  if (removed.layers > 0)
    terminal.out << fmt::format("freed {} ({} layers)\n",
                                byte_size(static_cast<uint64_t>(removed.bytes)), removed.layers);
  return {};
}

Result<void> remove(Terminal& terminal, ImageStore& store, const std::string& state_folder,
                    const ImageRemoveOptions& options) {
  const LayersInUse in_use = layers_in_use(state_folder);
  for (const std::string& name : options.names) {
    const auto image = store.find(name);
    if (!image) return error(Reason::NotFound, fmt::format("there is no image {}", quoted(name)));
    const std::string holder = holder_of(*image, in_use);
    if (!holder.empty() && !options.force)
      return error(Reason::Conflict,
                   fmt::format("image {} is used by pod {}: delete the pod first, or --force to "
                               "forget the name and keep the layers while it runs",
                               image->name, holder));
    TRY(store.remove_name(name));
    terminal.out << fmt::format("removed {}\n", image->name);
  }
  auto collected = collect(terminal, store, state_folder);
  // The names are gone; the layers go with the next removal.
  if (!collected && collected.error().reason == Reason::Conflict) return {};
  return collected;
}

Result<void> prune(Terminal& terminal, ImageStore& store, const std::string& state_folder,
                   const ImagePruneOptions& options) {
  TRY(store.recover());
  const LayersInUse in_use = layers_in_use(state_folder);
  std::vector<std::string> dropped;
  if (options.all) {
    for (const StoredImage& image : store.images())
      if (holder_of(image, in_use).empty()) dropped.push_back(image.name);
  } else if (!options.max_size.empty()) {
    const auto most = Quantity::parse(options.max_size);
    if (!most || most->value() < 0)
      return error(Reason::Invalid, fmt::format("--max-size {} is not a size, as 20Gi is",
                                                quoted(options.max_size)));
    dropped = images_to_drop(store.images(), store.layer_bytes(), in_use, {most->value()});
  }
  for (const std::string& name : dropped) {
    TRY(store.remove_name(name));
    terminal.out << fmt::format("removed {}\n", name);
  }
  return collect(terminal, store, state_folder);
}

Result<void> save(const ImageStore& store, const ImageSaveOptions& options) {
  const auto image = store.find(options.name);
  if (!image)
    return error(Reason::NotFound, fmt::format("there is no image {}", quoted(options.name)));
  const Descriptor lock = TRY(store.lock_shared());
  const bool to_stdout = options.path.empty() || options.path == "-";
  if (to_stdout && ::isatty(STDOUT_FILENO) == 1)
    return error(Reason::Invalid, "an archive is not for a terminal: name a file with -o");
  const Descriptor file(
      to_stdout ? ::dup(STDOUT_FILENO)
                : ::open(options.path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
  const auto failure = [&] {
    return error(Reason::InternalError,
                 fmt::format("cannot write {}: {}", options.path, std::strerror(errno)));
  };
  if (!file.is_open()) return failure();
  return save_image(store, *image, [&](std::string_view bytes) -> Result<void> {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
      if (written < 0) return failure();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  });
}

int code_of(Terminal& terminal, const Result<void>& done) {
  if (done) return kOk;
  Error failure = done.error();
  failure.message = with_mend(failure);
  return print_failure(terminal, failure);
}

Json shown(const StoredImage& image) {
  return JsonObject{{"name", image.name},
                    {"id", image_id_of(image)},
                    {"digest", image.manifest_digest},
                    {"bytes", image.bytes},
                    {"layers", image.config.diff_ids.size()},
                    {"loaded", rfc3339(from_unix_seconds(image.loaded_at))},
                    {"used", rfc3339(from_unix_seconds(image.used_at))}};
}

}  // namespace

int load_images(Terminal& terminal, ImageStore& store, const ImageLoadOptions& options) {
  return code_of(terminal, load(terminal, store, options));
}

int import_image(Terminal& terminal, ImageStore& store, const ImageImportOptions& options) {
  return code_of(terminal, import(terminal, store, options));
}

int list_images(Terminal& terminal, const ImageStore& store, const ImageListOptions& options) {
  const std::vector<StoredImage> images = store.images();
  if (options.as_json) {
    JsonArray out;
    for (const StoredImage& each : images)
      out.push_back(shown(each));
    terminal.out << to_pretty_text(out) << "\n";
    return kOk;
  }
  if (options.names_only) {
    for (const StoredImage& each : images)
      terminal.out << each.name << "\n";
    return kOk;
  }
  if (images.empty()) {
    terminal.err << "No images. `trainyard image load FILE` brings some in.\n";
    return kOk;
  }
  Grid grid{{"NAME", "DIGEST", "LAYERS", "SIZE", "LOADED", "USED"}, {}};
  for (const StoredImage& each : images) {
    const auto ago = [&](std::int64_t seconds) {
      return human_duration(terminal.now - from_unix_seconds(seconds));
    };
    grid.rows.push_back({printable(each.name), each.manifest_digest.substr(7, 12),
                         std::to_string(each.config.diff_ids.size()),
                         byte_size(static_cast<uint64_t>(each.bytes)), ago(each.loaded_at),
                         ago(each.used_at)});
  }
  terminal.out << grid_text(grid);
  return kOk;
}

int remove_images(Terminal& terminal, ImageStore& store, const std::string& state_folder,
                  const ImageRemoveOptions& options) {
  return code_of(terminal, remove(terminal, store, state_folder, options));
}

int prune_images(Terminal& terminal, ImageStore& store, const std::string& state_folder,
                 const ImagePruneOptions& options) {
  return code_of(terminal, prune(terminal, store, state_folder, options));
}

int save_image_as(Terminal& terminal, const ImageStore& store, const ImageSaveOptions& options) {
  return code_of(terminal, save(store, options));
}

}  // namespace yard
