#include "cli/image_pull.h"

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cli/pull_progress.h"
#include "images/registry/pull_image.h"
#include "images/registry/registry_fault.h"

namespace yard {
namespace {

Result<void> pull(Terminal& terminal, ImageStore& store, Registry& registry,
                  const BlockingTime& time, const ImagePullOptions& options,
                  const std::string& name) {
  PullDisplay display(terminal.err, options.rewrites_line, time.now);
  PullRequest request;
  request.image = name;
  request.now = unix_seconds(time.now());
  if (!options.is_quiet)
    request.progress = [&](const TakeProgress& progress) { display.tell(progress); };
  auto pulled = pull_image(store, registry, request);
  display.end();
  if (!pulled) return std::move(pulled).error();
  const StoredImage& image = pulled->image;
  if (!options.is_quiet)
    terminal.err << fmt::format("{} {} {}: {} layers, {} unpacked\n", printable(image.name),
                                pulled->was_current ? "is still the one of" : "came from",
                                pulled->source, image.config.diff_ids.size(),
                                byte_size(static_cast<uint64_t>(image.bytes)));
  terminal.out << image_id_of(image) << "\n";
  return {};
}

}  // namespace

int pull_images(Terminal& terminal, ImageStore& store, RegistrySetup setup,
                const ImagePullOptions& options) {
  if (auto recovered = store.recover(); !recovered)
    return print_failure(terminal, recovered.error());
  const BlockingTime time = setup.time;
  Registry registry(std::move(setup));
  for (const std::string& name : options.names) {
    const auto pulled = pull(terminal, store, registry, time, options, name);
    if (pulled) continue;
    Error failure = pulled.error();
    failure.message = fmt::format("{} cannot be pulled: {}", printable(name), failure.message);
    const int code = print_failure(terminal, failure);
    if (const std::string mend = mend_of(failure); !mend.empty())
      terminal.err << "To mend it, " << mend << ".\n";
    return code;
  }
  return kOk;
}

}  // namespace yard
