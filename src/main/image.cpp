// image: what lies unpacked on this machine. It works on the state folder itself, so no server need
// run; one that runs sees what changed.

#include <iostream>
#include <memory>
#include <unistd.h>

#include "cli/image_pull.h"
#include "cli/images.h"
#include "images/pull_worker.h"
#include "images/user_namespace.h"
#include "main/commands.h"
#include "main/config.h"
#include "main/connect.h"

namespace yard {
namespace {

using StoreCommand = std::function<int(Terminal&, ImageStore&, const std::string& state)>;

int with_store(const Program& program, const StoreCommand& command) {
  enter_namespace_to_unpack();  // before anything makes a thread
  auto folder = program.folder();
  if (!folder) return print_error(folder.error().message);
  if (const auto made = folder->make(); !made) return print_error(made.error().message);
  auto store = ImageStore::open(folder->path());
  if (!store) return print_error(store.error().message);
  Terminal terminal = standard_terminal();
  const int code = command(terminal, *store, folder->path());
  std::cout.flush();
  return code;
}

CLI::App* add_verb(CLI::App* image, Program& program, const std::string& name,
                   const std::string& about) {
  CLI::App* verb = image->add_subcommand(name, about);
  verb->add_option("--state", program.state, "the state folder");
  return verb;
}

template <typename Options, typename Run>
void set_run(CLI::App* verb, Program& program, std::shared_ptr<Options> options, Run run) {
  verb->callback([&program, options, run] {
    program.run = [&program, options, run] {
      return with_store(program,
                        [&](Terminal& terminal, ImageStore& store, const std::string& state) {
                          return run(terminal, store, state, *options);
                        });
    };
  });
}

void add_load(CLI::App* image, Program& program) {
  auto options = std::make_shared<ImageLoadOptions>();
  CLI::App* verb = add_verb(image, program, "load",
                            "Bring in an archive or layout: OCI, docker save, podman save.");
  verb->add_option("PATH", options->path,
                   "a file, a folder, - for standard input, or containers-storage:NAME")
      ->required();
  verb->add_option("--name", options->name,
                   "the image's name, where the archive has none or another");
  set_run(verb, program, options,
          [&program](Terminal& terminal, ImageStore& store, const std::string&,
                     ImageLoadOptions given) {
            auto folder = program.folder();
            auto config = folder ? read_config(*folder) : Result<Config>(folder.error());
            if (!config) return print_error(config.error().message);
            given.stores = config->images.stores.value_or(std::vector<std::string>());
            return load_images(terminal, store, given);
          });
}

void add_pull(CLI::App* image, Program& program) {
  auto options = std::make_shared<ImagePullOptions>();
  CLI::App* verb = add_verb(image, program, "pull",
                            "Bring in an image from its registry, with this user's logins.");
  verb->add_option("NAME", options->names, "images")->required();
  verb->add_flag("-q,--quiet", options->is_quiet, "print only what each is called now");
  set_run(verb, program, options,
          [&program](Terminal& terminal, ImageStore& store, const std::string&,
                     ImagePullOptions given) {
            auto folder = program.folder();
            auto config = folder ? read_config(*folder) : Result<Config>(folder.error());
            if (!config) return print_error(config.error().message);
            given.rewrites_line = ::isatty(STDERR_FILENO) == 1;
            return pull_images(terminal, store, make_registry_setup(config->images.registries, {}),
                               given);
          });
}

void add_import(CLI::App* image, Program& program) {
  auto options = std::make_shared<ImageImportOptions>();
  CLI::App* verb = add_verb(image, program, "import", "Make an image of one layer from a folder.");
  verb->add_option("DIR", options->folder, "the folder that becomes the root")->required();
  verb->add_option("--name", options->name, "the image's name")->required();
  verb->add_option("--entrypoint", options->entrypoint, "a word of the entrypoint; again for more")
      ->allow_extra_args(false);
  verb->add_option("--cmd", options->command, "a word of the default arguments; again for more")
      ->allow_extra_args(false);
  verb->add_option("--env", options->env, "NAME=VALUE; again for more")->allow_extra_args(false);
  verb->add_option("--workdir", options->working_folder, "the working folder");
  verb->add_option("--user", options->user, "user[:group], by name or number");
  verb->add_option("--stop-signal", options->stop_signal, "SIGTERM unless given");
  verb->add_option("--volume", options->volumes, "a folder that is written to; again for more")
      ->allow_extra_args(false);
  verb->add_option("--label", options->labels, "key=value; again for more")
      ->allow_extra_args(false);
  set_run(verb, program, options,
          [](Terminal& terminal, ImageStore& store, const std::string&,
             const ImageImportOptions& given) { return import_image(terminal, store, given); });
}

void add_list(CLI::App* image, Program& program) {
  auto options = std::make_shared<ImageListOptions>();
  CLI::App* verb = add_verb(image, program, "ls", "List the images of this machine.");
  verb->add_flag("-q,--quiet", options->names_only, "names only");
  verb->add_flag("--json", options->as_json, "as JSON");
  set_run(verb, program, options,
          [](Terminal& terminal, ImageStore& store, const std::string&,
             const ImageListOptions& given) { return list_images(terminal, store, given); });
}

void add_remove(CLI::App* image, Program& program) {
  auto options = std::make_shared<ImageRemoveOptions>();
  CLI::App* verb = add_verb(image, program, "rm", "Remove images, and layers no other needs.");
  verb->add_option("NAME", options->names, "images")->required();
  verb->add_flag("--force", options->force, "also where a pod uses it");
  set_run(
      verb, program, options,
      [](Terminal& terminal, ImageStore& store, const std::string& state,
         const ImageRemoveOptions& given) { return remove_images(terminal, store, state, given); });
}

void add_prune(CLI::App* image, Program& program) {
  auto options = std::make_shared<ImagePruneOptions>();
  CLI::App* verb =
      add_verb(image, program, "prune", "Free the disk of what no image and no pod needs.");
  verb->add_flag("--all", options->all, "also images that no pod uses");
  verb->add_option("--max-size", options->max_size,
                   "least recently used images go until the rest is below it, as 20Gi");
  set_run(
      verb, program, options,
      [](Terminal& terminal, ImageStore& store, const std::string& state,
         const ImagePruneOptions& given) { return prune_images(terminal, store, state, given); });
}

void add_save(CLI::App* image, Program& program) {
  auto options = std::make_shared<ImageSaveOptions>();
  CLI::App* verb = add_verb(image, program, "save",
                            "Write an image as an OCI archive, for podman, docker or skopeo.");
  verb->add_option("NAME", options->name, "the image")->required();
  verb->add_option("-o,--output", options->path, "the file (default: standard output)");
  set_run(verb, program, options,
          [](Terminal& terminal, ImageStore& store, const std::string&,
             const ImageSaveOptions& given) { return save_image_as(terminal, store, given); });
}

}  // namespace

void add_image_worker(Program& program) {
  CLI::App* command = program.add("image-worker", "Pull an image (started by the server).", "");
  command->group("");
  command->callback([&program] {
    program.run = [&program] {
      auto folder = program.folder();
      if (!folder) return print_error(folder.error().message);
      return run_pull_worker(folder->path());
    };
  });
}

void add_image(Program& program) {
  CLI::App* image = program.add(
      "image", "The images of this machine: pull, load, import, list, remove, save.",
      "  trainyard image pull registry.lab/team/app:1\n"
      "  trainyard image load app.tar               what docker save or podman save wrote\n"
      "  podman save app | trainyard image load -\n"
      "  trainyard image import ./root --name app --entrypoint /bin/app\n"
      "  trainyard image ls\n"
      "  trainyard image prune --max-size 20Gi      the least recently used go first\n");
  image->group(kOtherCommands);
  image->require_subcommand(1);
  add_pull(image, program);
  add_load(image, program);
  add_import(image, program);
  add_list(image, program);
  add_remove(image, program);
  add_prune(image, program);
  add_save(image, program);
}

}  // namespace yard
