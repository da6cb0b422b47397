#include <cstdio>

#include <fmt/format.h>

#include "main/commands.h"
#include "main/kubeconfig_file.h"

namespace yard {
namespace {

struct KubeconfigOptions {
  bool path_only = false;
  bool merge = false;
};

int show_kubeconfig(const StateFolder& folder, const KubeconfigOptions& options) {
  const auto content = folder.read("kubeconfig");
  if (!content)
    return print_error(
        fmt::format("there is no kubeconfig in {} yet; `trainyard up` makes it", folder.path()));
  if (options.merge) {
    auto path = kubectl_file();
    auto said = path ? merge_into(*path, folder, *content) : Result<std::string>(path.error());
    if (!said) return print_error(said.error().message);
    std::printf("%s", said->c_str());
    return kOk;
  }
  std::printf("%s", options.path_only ? (folder.kubeconfig() + "\n").c_str() : content->c_str());
  return kOk;
}

}  // namespace

void add_kubeconfig(Program& program) {
  auto options = std::make_shared<KubeconfigOptions>();
  CLI::App* command =
      program.add("kubeconfig", "Print the administrator's kubeconfig, or add it to yours.",
                  "  export KUBECONFIG=$(trainyard kubeconfig --path)\n"
                  "  trainyard kubeconfig --merge          into $KUBECONFIG or ~/.kube/config, as "
                  "context trainyard\n"
                  "  trainyard kubeconfig > my.kubeconfig\n");
  command->group(kServerCommands);
  CLI::Option* path = command->add_flag("--path", options->path_only, "print where it is instead");
  command
      ->add_flag("--merge", options->merge,
                 "add it to the kubeconfig kubectl uses; the rest of that file stays")
      ->excludes(path);
  command->callback([&program, options] {
    program.run = [&program, options] {
      auto folder = program.folder();
      return folder ? show_kubeconfig(*folder, *options) : print_error(folder.error().message);
    };
  });
}

}  // namespace yard
