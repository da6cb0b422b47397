#include "images/registry/pull_image.h"

#include <fmt/format.h>

#include "images/registry/registry_fault.h"

namespace yard {
namespace {

constexpr int kMostIndexes = 3;  // an index may name an index

// The manifest for this machine that a name leads to.
Result<FetchedManifest> machine_manifest(Registry& registry, ImageReference reference) {
  for (int i = 0; i <= kMostIndexes; ++i) {
    FetchedManifest fetched = TRY(registry.manifest(reference, accepted_manifests()));
    if (!is_index_type(fetched.media_type)) return fetched;
    const ImageIndex index = TRY(parse_index(fetched.bytes));
    reference.digest = TRY(choose_platform(index, machine_platform())).digest;
  }
  return registry_error(RegistryFault::BadManifest,
                        fmt::format("{} is an index of indexes without an end", reference.name()));
}

Result<std::string> small_blob(Registry& registry, const ImageReference& reference,
                               const BlobDescriptor& blob) {
  if (blob.size > static_cast<std::int64_t>(kMostConfigFileBytes))
    return registry_error(
        RegistryFault::BadManifest,
        fmt::format("the configuration of {} is larger than any should be", reference.name()));
  std::string out;
  out.reserve(static_cast<std::size_t>(blob.size));
  TRY(registry.blob(reference, blob, 0, [&](std::string_view bytes) -> Result<void> {
    out += bytes;
    return {};
  }));
  return out;
}

}  // namespace

Result<PullOutcome> pull_image(ImageStore& store, Registry& registry, const PullRequest& request) {
  const ImageReference reference = TRY(parse_reference(request.image));
  const Descriptor lock = TRY(store.lock_shared());
  FetchedManifest fetched = TRY(machine_manifest(registry, reference));
  const std::string name = full_image_name(request.image);
  auto known = store.find(name);
  if (known && known->from_registry && known->manifest_digest == fetched.digest)
    return PullOutcome{std::move(*known), std::move(fetched.source), true};
  IncomingImage incoming;
  incoming.manifest = TRY(parse_manifest(fetched.bytes));
  incoming.manifest_bytes = std::move(fetched.bytes);
  incoming.config_bytes = TRY(small_blob(registry, reference, incoming.manifest.config));
  incoming.send_layer = [&](std::size_t layer, const ByteSink& sink) {
    return registry.blob(reference, incoming.manifest.layers[layer], 0, sink);
  };
  TakeOptions options;
  options.name = name;
  options.from_registry = true;
  options.now = request.now;
  options.limits = request.limits;
  options.threads = request.threads;
  options.progress = request.progress;
  StoredImage taken = TRY(take_image(store, incoming, options));
  return PullOutcome{std::move(taken), std::move(fetched.source), false};
}

}  // namespace yard
