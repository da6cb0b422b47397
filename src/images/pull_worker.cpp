#include "images/pull_worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "images/in_use.h"
#include "images/local_stores.h"
#include "images/registry/pull_image.h"
#include "images/registry/registry_fault.h"
#include "images/user_namespace.h"
#include "json/json.h"

namespace yard {
namespace {

constexpr std::size_t kMostOrderBytes = 16u << 20;
// How far it has come is told this often, and in so many steps at least: a server that stops in the
// middle leaves no wrong number.
constexpr Duration kTellEvery = std::chrono::milliseconds(500);
constexpr std::int64_t kSteps = 64;
// An image that was used this lately may be a pod's that is about to start.
constexpr std::int64_t kSparedSeconds = 60;

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

// Below the limit again, by giving up what was unused for longest.
Result<void> make_room(ImageStore& store, const std::string& state_folder, const RoomWanted& room) {
  const Descriptor lock = TRY(store.lock_alone());
  const LayersInUse in_use = layers_in_use(state_folder);
  for (const std::string& name : images_to_drop(store.images(), store.layer_bytes(), in_use, room))
    TRY(store.remove_name(name));
  TRY(store.collect(in_use.layers));
  return {};
}

// From podman's or docker's folders, where they have it and we may read it.
Result<std::optional<StoredImage>> take_local(ImageStore& store, const Json& order,
                                              const TakeOptions& options) {
  const std::optional<StoredImage> nothing;
  const Json* folders = find(order, "stores");
  if (folders == nullptr || !folders->is_array() || folders->get_array().empty()) return nothing;
  std::vector<std::string> paths;
  for (const Json& each : folders->get_array())
    if (each.is_string()) paths.emplace_back(each.get_string());
  LocalStores stores(std::move(paths));
  const std::string id = stores.find(options.name);
  if (id.empty()) return nothing;
  auto taken = [&]() -> Result<StoredImage> {
    const Descriptor lock = TRY(store.lock_shared());
    const auto image = TRY(stores.open(options.name));
    if (!image) return error(Reason::NotFound, "it is gone");
    return take_image(store, *image, options);
  }();
  if (taken) return std::optional<StoredImage>(std::move(*taken));
  if (!mend_of(taken.error()).empty()) return taken.error();  // our own disk is full
  say(JsonObject{{"type", "unreadable"}, {"id", id}, {"message", taken.error().message}});
  return nothing;
}

struct CarriedOut {
  StoredImage image;
  bool was_local = false;
};

Result<StoredImage> pull_from_registry(ImageStore& store, const Json& order,
                                       const TakeOptions& options) {
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
  Registry registry(make_registry_setup(std::move(config), secrets));
  PullRequest request;
  request.image = options.name;
  request.now = options.now;
  request.progress = options.progress;
  PullOutcome pulled = TRY(pull_image(store, registry, request));
  return std::move(pulled.image);
}

Result<CarriedOut> carry_out(const Json& order, const std::string& state_folder) {
  ImageStore store = TRY(ImageStore::open(state_folder));
  TRY(store.recover());
  TakeOptions options;
  options.name = text_at(order, {"image"});
  options.origin = ImageOrigin::LocalStore;
  options.now = int_at(order, {"now"});
  options.progress = [told = TakeProgress{}, at = Time{},
                      time = real_blocking_time()](const TakeProgress& progress) mutable {
    if (time.now() - at < kTellEvery && progress.layers_done == told.layers_done &&
        progress.bytes - told.bytes < progress.total_bytes / kSteps)
      return;
    told = progress;
    at = time.now();
    say(JsonObject{{"type", "progress"},
                   {"layersDone", progress.layers_done},
                   {"layers", progress.layers},
                   {"bytes", progress.bytes},
                   {"totalBytes", progress.total_bytes}});
  };
  CarriedOut out;
  if (auto local = TRY(take_local(store, order, options))) {
    out = {std::move(*local), true};
  } else if (bool_at(order, {"fromRegistry"})) {
    out.image = TRY(pull_from_registry(store, order, options));
  } else {
    return error(Reason::NotFound, "no store of this machine has it in a form that can be read");
  }
  if (const std::int64_t most = int_at(order, {"sizeLimit"}); most > 0) {
    // While others pull it is their turn to look.
    (void)make_room(store, state_folder, {most, options.now - kSparedSeconds, out.image.name});
  }
  return out;
}

}  // namespace

int run_pull_worker(const std::string& state_folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left to hear of it
  enter_namespace_to_unpack();
  const auto order = read_order();
  const auto done = order ? carry_out(*order, state_folder) : Result<CarriedOut>(order.error());
  if (!done) {
    say(JsonObject{{"type", "error"}, {"message", with_mend(done.error())}});
    return 1;
  }
  say(JsonObject{{"type", "done"},
                 {"bytes", done->image.packed_bytes},
                 {"id", image_id_of(done->image)},
                 {"wasLocal", done->was_local}});
  return 0;
}

}  // namespace yard
