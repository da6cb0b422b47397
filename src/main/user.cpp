// user add: a client certificate of our CA for a further person or program, in a kubeconfig.

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/json.h"
#include "json/yaml.h"
#include "main/commands.h"
#include "main/credentials.h"
#include "main/kubeconfig_file.h"
#include "net/loop.h"

namespace yard {
namespace {

constexpr size_t kMostNameBytes = 64;  // of a common name and an organization (X.520)

struct UserOptions {
  std::string name;
  std::vector<std::string> groups;
  std::string out;
  bool merge = false;
  int days = 365;
};

Result<void> check_name(std::string_view what, std::string_view text) {
  const bool has_control = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (text.empty() || text.size() > kMostNameBytes || has_control || !is_valid_utf8(text)) {
    return error(Reason::BadRequest, fmt::format("{} {} is not 1 to {} printable bytes", what,
                                                 quoted(text), kMostNameBytes));
  }
  return {};
}

Result<std::string> server_url(const StateFolder& folder) {
  const auto own = folder.read("kubeconfig");
  if (!own)
    return error(Reason::NotFound, fmt::format("there is no control plane in {} yet; `trainyard "
                                               "up` makes it",
                                               folder.path()));
  auto parsed = parse_yaml(*own);
  if (parsed && parsed->size() == 1) {
    const Json* clusters = find(parsed->front().parsed.value, "clusters");
    if (clusters != nullptr && clusters->is_array() && !clusters->get_array().empty())
      return std::string(text_at(clusters->get_array()[0], {"cluster", "server"}));
  }
  return error(
      Reason::BadRequest,
      fmt::format("{} cannot be read; `trainyard restart` writes it anew", folder.kubeconfig()));
}

Result<std::string> new_kubeconfig(const StateFolder& folder, const UserOptions& options) {
  TRY(check_name("the user", options.name));
  if (options.name.starts_with("system:"))
    return error(Reason::BadRequest, "names that begin with system: are the cluster's own");
  for (const std::string& group : options.groups)
    TRY(check_name("the group", group));
  const std::string url = TRY(server_url(folder));
  const auto certificate = folder.read("ca.crt"), key = folder.read("ca.key");
  if (!certificate || !key)
    return error(Reason::NotFound,
                 fmt::format("the certificate authority of {} cannot be read", folder.path()));
  const KeyPair client =
      TRY(make_client_certificate({*certificate, *key}, options.name, options.groups,
                                  make_asio_loop()->now(), std::chrono::hours(24) * options.days));
  return user_kubeconfig_text(*certificate, client, options.name, url);
}

int add_user_to(const StateFolder& folder, const UserOptions& options) {
  auto text = new_kubeconfig(folder, options);
  if (!text) return print_error(text.error().message);
  if (options.merge) {
    auto path = kubectl_file();
    auto said = path ? merge_into(*path, folder, *text) : Result<std::string>(path.error());
    if (!said) return print_error(said.error().message);
    std::printf("%s", said->c_str());
    return kOk;
  }
  if (options.out.empty()) {
    std::printf("%s", text->c_str());
    return kOk;
  }
  if (auto written = write_whole(options.out, *text); !written)
    return print_error(written.error().message);
  std::printf("wrote the kubeconfig of %s to %s\n", options.name.c_str(), options.out.c_str());
  return kOk;
}

}  // namespace

void add_user(Program& program) {
  CLI::App* command = program.add("user", "Let further people and programs in.", "");
  command->group(kServerCommands);
  command->require_subcommand(1);
  CLI::App* add = command->add_subcommand("add", "Make a user with a client certificate.");
  add->footer(
      "\nExamples:\n"
      "  trainyard user add ann --out ann.kubeconfig\n"
      "  kubectl create rolebinding ann --clusterrole edit --user ann -n default\n"
      "  trainyard user add bob --group system:masters      may do everything\n"
      "\nA user may do nothing until a RoleBinding or ClusterRoleBinding says otherwise. A\n"
      "certificate cannot be taken back: give it few --days.\n");
  auto options = std::make_shared<UserOptions>();
  add->add_option("NAME", options->name, "the user's name")->required();
  add->add_option("--group", options->groups, "a group the user is in; may be given again");
  CLI::Option* out = add->add_option("--out", options->out, "write the kubeconfig to this file");
  add->add_flag("--merge", options->merge, "add it to the kubeconfig kubectl uses")->excludes(out);
  add->add_option("--days", options->days, "how long the certificate is good (default: 365)")
      ->check(CLI::Range(1, 3650));
  add->callback([&program, options] {
    program.run = [&program, options] {
      auto folder = program.folder();
      return folder ? add_user_to(*folder, *options) : print_error(folder.error().message);
    };
  });
}

}  // namespace yard
