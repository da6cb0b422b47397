#include "images/pull_worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "images/in_use.h"
#include "images/registry/pull_image.h"
#include "images/registry/registry_fault.h"
#include "images/user_namespace.h"
#include "json/json.h"

namespace yard {
namespace {

constexpr std::size_t kMostOrderBytes = 16u << 20;
constexpr std::int64_t kTellEvery = 8 << 20;

Result<Json> read_order() {
  std::string text;
  char buffer[4096];
  while (text.find('\n') == std::string::npos) {
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0) return error(Reason::Invalid, "no order came");
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kMostOrderBytes) return error(Reason::Invalid, "the order is too long");
  }
  ParsedJson parsed = TRY(parse_json(text.substr(0, text.find('\n'))));
  return std::move(parsed.value);
}

void say(const Json& line) {
  std::string text = to_text(line) + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Below the limit again, by giving up what was unused for longest; never what was just pulled.
Result<void> make_room(ImageStore& store, const std::string& state_folder, std::int64_t most_bytes,
                       const std::string& pulled) {
  const Descriptor lock = TRY(store.lock_alone());
  const LayersInUse in_use = layers_in_use(state_folder);
  for (const std::string& name :
       images_to_drop(store.images(), store.layer_bytes(), in_use, most_bytes)) {
    if (name != pulled) TRY(store.remove_name(name));
  }
  TRY(store.collect(in_use.layers));
  return {};
}

Result<StoredImage> carry_out(const Json& order, const std::string& state_folder) {
  RegistryConfig config;
  if (const Json* section = find(order, "registries")) {
    if (auto problem = read_registry_config(*section, "", config))
      return error(Reason::Invalid, problem->words);
  }
  std::vector<PullSecret> secrets;
  if (const Json* list = find(order, "secrets"); list != nullptr && list->is_array()) {
    for (const Json& each : list->get_array())
      secrets.push_back(
          {std::string(text_at(each, {"type"})), std::string(text_at(each, {"content"}))});
  }
  ImageStore store = TRY(ImageStore::open(state_folder));
  TRY(store.recover());
  Registry registry(make_registry_setup(std::move(config), secrets));
  PullRequest options;
  options.image = text_at(order, {"image"});
  options.now = int_at(order, {"now"});
  options.progress = [told = std::int64_t{0}](const TakeProgress& progress) mutable {
    if (progress.bytes - told < kTellEvery && progress.layers_done < progress.layers) return;
    told = progress.bytes;
    say(JsonObject{{"type", "progress"},
                   {"layersDone", progress.layers_done},
                   {"layers", progress.layers},
                   {"bytes", progress.bytes},
                   {"totalBytes", progress.total_bytes}});
  };
  PullOutcome pulled = TRY(pull_image(store, registry, options));
  if (const std::int64_t most = int_at(order, {"sizeLimit"}); most > 0) {
    // While others pull it is their turn to look.
    (void)make_room(store, state_folder, most, pulled.image.name);
  }
  return std::move(pulled.image);
}

}  // namespace

int run_pull_worker(const std::string& state_folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left to hear of it
  enter_namespace_to_unpack();
  const auto order = read_order();
  const auto image = order ? carry_out(*order, state_folder) : Result<StoredImage>(order.error());
  if (!image) {
    say(JsonObject{{"type", "error"}, {"message", with_mend(image.error())}});
    return 1;
  }
  say(JsonObject{{"type", "done"}, {"bytes", image->packed_bytes}, {"id", image_id_of(*image)}});
  return 0;
}

}  // namespace yard
