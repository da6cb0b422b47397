#include "images/registry/pull_image.h"

#include <fmt/format.h>

#include "images/registry/registry_fault.h"

namespace yard {
namespace {

constexpr int kMostIndexes = 3;  // an index may name an index

struct MachineManifest {
  FetchedManifest manifest;
  std::string index_digest;  // of what the name leads to, where that is an index
};

// The manifest for this machine that a name leads to.
Result<MachineManifest> machine_manifest(Registry& registry, ImageReference reference) {
  MachineManifest out;
  for (int i = 0; i <= kMostIndexes; ++i) {
    out.manifest = TRY(registry.manifest(reference, accepted_manifests()));
    if (!is_index_type(out.manifest.media_type)) return out;
    const ImageIndex index = TRY(parse_index(out.manifest.bytes));
    if (i == 0) out.index_digest = out.manifest.digest;
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

Result<PullOutcome> pull(ImageStore& store, Registry& registry, const PullRequest& request,
                         const ImageReference& reference) {
  const Descriptor lock = TRY(store.lock_shared());
  const std::string name = full_image_name(request.image);
  auto known = store.find(name);
  if (known && known->origin == ImageOrigin::Registry) {
    // Nothing but a head is asked for while the tag stays where it was.
    auto tag = registry.manifest_digest(reference, accepted_manifests());
    if (tag && tag->digest == tagged_digest(*known))
      return PullOutcome{std::move(*known), std::move(tag->source), true};
    // A refused head has no words: the question below brings them. Who is not there stays so.
    if (!tag && (fault_of(tag.error()) == RegistryFault::Unavailable ||
                 fault_of(tag.error()) == RegistryFault::TooMany))
      return std::move(tag).error();
  }
  MachineManifest found = TRY(machine_manifest(registry, reference));
  FetchedManifest& fetched = found.manifest;
  IncomingImage incoming;
  incoming.manifest = TRY(parse_manifest(fetched.bytes));
  incoming.manifest_bytes = std::move(fetched.bytes);
  incoming.config_bytes = TRY(small_blob(registry, reference, incoming.manifest.config));
  incoming.send_layer = [&](std::size_t layer, const ByteSink& sink) {
    return registry.blob(reference, incoming.manifest.layers[layer], 0, sink);
  };
  TakeOptions options;
  options.name = name;
  options.origin = ImageOrigin::Registry;
  options.index_digest = std::move(found.index_digest);
  options.now = request.now;
  options.limits = request.limits;
  options.threads = request.threads;
  options.progress = request.progress;
  StoredImage taken = TRY(take_image(store, incoming, options));
  return PullOutcome{std::move(taken), std::move(fetched.source), false};
}

}  // namespace

Result<PullOutcome> pull_image(ImageStore& store, Registry& registry, const PullRequest& request) {
  const ImageReference reference = TRY(parse_reference(request.image));
  auto out = pull(store, registry, request, reference);
  // What it sent is not an image, or not the one it promised.
  if (!out && out.error().reason == Reason::Invalid && mend_of(out.error()).empty())
    set_mend(out.error(), mend_for(RegistryFault::BadManifest, {reference.registry}));
  return out;
}

}  // namespace yard
