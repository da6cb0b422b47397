#include "images/take_image.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

constexpr std::int64_t kTellEvery = 128 << 10;

struct LayerTask {
  std::size_t index = 0;
  std::string diff_id;
};

// What the threads share. The first error ends them all.
class Intake {
 public:
  Intake(ImageStore& store, const IncomingImage& incoming, const TakeOptions& options,
         std::vector<LayerTask> tasks)
      : store_(store), incoming_(incoming), options_(options), tasks_(std::move(tasks)) {
    for (const LayerTask& each : tasks_)
      progress_.total_bytes += incoming_.manifest.layers[each.index].size;
    progress_.layers = tasks_.size();
  }

  Result<void> run() {
    tell();
    std::vector<std::thread> threads;
    const std::size_t wanted = std::min(options_.threads, tasks_.size());
    for (std::size_t i = 1; i < wanted; ++i)
      threads.emplace_back([this] { work(); });
    work();
    for (std::thread& each : threads)
      each.join();
    return failure_ ? Result<void>(*failure_) : Result<void>();
  }

 private:
  void work() {
    for (;;) {
      LayerTask task;
      {
        const std::lock_guard guard(mutex_);
        if (failure_ || next_ == tasks_.size()) return;
        task = tasks_[next_++];
      }
      if (auto done = take_layer(task); !done) {
        const std::lock_guard guard(mutex_);
        if (!failure_) failure_ = std::move(done).error();
      }
    }
  }

  Result<void> take_layer(const LayerTask& task) {
    auto intake = TRY(store_.begin_layer(options_.limits));
    auto outcome = receive(task, *intake);
    if (!outcome) {
      store_.drop_layer(*intake);
      return std::move(outcome).error();
    }
    TRY(store_.keep_layer(*intake, *outcome));
    const std::lock_guard guard(mutex_);
    ++progress_.layers_done;
    tell();
    return {};
  }

  Result<LayerIntake::Outcome> receive(const LayerTask& task, LayerIntake& intake) {
    const BlobDescriptor& layer = incoming_.manifest.layers[task.index];
    std::int64_t untold = 0, received = 0;
    const ByteSink sink = [&](std::string_view bytes) -> Result<void> {
      received += static_cast<std::int64_t>(bytes.size());
      if (!layer.digest.empty() && received > layer.size)
        return error(Reason::Invalid,
                     fmt::format("the layer {} is longer than the {} bytes its manifest says",
                                 layer.digest, layer.size));
      untold += static_cast<std::int64_t>(bytes.size());
      if (untold >= kTellEvery) TRY(count(std::exchange(untold, 0)));
      return intake.feed(bytes);
    };
    TRY(incoming_.send_layer(task.index, sink));
    TRY(count(untold));
    if (!layer.digest.empty() && received < layer.size)
      return error(Reason::Invalid, fmt::format("the layer {} is cut off: {} of {} bytes came",
                                                layer.digest, received, layer.size));
    auto outcome = intake.finish();
    if (!outcome) {
      outcome.error().message = fmt::format("layer {}: {}", task.diff_id, outcome.error().message);
      return outcome;
    }
    if (!layer.digest.empty() && outcome->blob_digest != layer.digest)
      return error(Reason::Invalid, fmt::format("the layer's bytes have the digest {}, and the "
                                                "manifest says {}",
                                                outcome->blob_digest, layer.digest));
    if (outcome->diff_id != task.diff_id)
      return error(Reason::Invalid, fmt::format("the unpacked layer has the digest {}, and the "
                                                "image's configuration says {}",
                                                outcome->diff_id, task.diff_id));
    return outcome;
  }

  Result<void> count(std::int64_t bytes) {
    const std::lock_guard guard(mutex_);
    if (failure_) return error(Reason::Conflict, "another layer failed");
    progress_.bytes += bytes;
    tell();
    return {};
  }

  void tell() {
    if (options_.progress) options_.progress(progress_);
  }

  ImageStore& store_;
  const IncomingImage& incoming_;
  const TakeOptions& options_;
  std::vector<LayerTask> tasks_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  TakeProgress progress_;
  std::optional<Error> failure_;
};

Result<ImageConfigFile> checked_config(const IncomingImage& incoming) {
  const std::string digest = "sha256:" + sha256_hex(incoming.config_bytes);
  if (digest != incoming.manifest.config.digest)
    return error(
        Reason::Invalid,
        fmt::format("the image's configuration has the digest {}, and the manifest says {}", digest,
                    incoming.manifest.config.digest));
  ImageConfigFile config = TRY(parse_config_file(incoming.config_bytes));
  if (config.diff_ids.size() != incoming.manifest.layers.size())
    return error(Reason::Invalid,
                 fmt::format("the manifest has {} layers and the image's configuration {}",
                             incoming.manifest.layers.size(), config.diff_ids.size()));
  if (config.diff_ids.empty()) return error(Reason::Invalid, "the image has no layers");
  const Platform machine = machine_platform();
  if (!config.platform.architecture.empty() &&
      (config.platform.architecture != machine.architecture || config.platform.os != machine.os))
    return error(Reason::Invalid, fmt::format("the image is for {}/{}, and this machine is {}/{}",
                                              config.platform.os, config.platform.architecture,
                                              machine.os, machine.architecture));
  for (const BlobDescriptor& layer : incoming.manifest.layers)
    if (!layer.media_type.empty()) TRY(layer_packing(layer.media_type));
  return config;
}

}  // namespace

Result<IncomingImage> image_of_plain_layers(std::string config_bytes,
                                            const std::vector<std::int64_t>& layer_bytes) {
  const ImageConfigFile config = TRY(parse_config_file(config_bytes));
  if (config.diff_ids.size() != layer_bytes.size())
    return error(Reason::Invalid, fmt::format("there are {} layers, and the image's configuration "
                                              "names {}",
                                              layer_bytes.size(), config.diff_ids.size()));
  IncomingImage out;
  out.manifest.config = {std::string(media_types::kOciConfig), "sha256:" + sha256_hex(config_bytes),
                         static_cast<std::int64_t>(config_bytes.size())};
  for (std::size_t i = 0; i < layer_bytes.size(); ++i)
    out.manifest.layers.push_back(
        {std::string(media_types::kOciLayer), config.diff_ids[i], layer_bytes[i]});
  out.manifest_bytes = encode(out.manifest);  // of a plain layer the diff id is the digest
  // What comes may be packed after all: it is known by its diff id alone.
  for (BlobDescriptor& layer : out.manifest.layers)
    layer.digest.clear();
  out.config_bytes = std::move(config_bytes);
  return out;
}

Result<StoredImage> take_image(ImageStore& store, const IncomingImage& incoming,
                               const TakeOptions& options) {
  StoredImage image;
  image.config = TRY(checked_config(incoming));
  std::vector<LayerTask> tasks;
  for (std::size_t i = 0; i < image.config.diff_ids.size(); ++i) {
    const std::string& diff_id = image.config.diff_ids[i];
    const bool is_asked =
        std::ranges::any_of(tasks, [&](const LayerTask& each) { return each.diff_id == diff_id; });
    if (!is_asked && !store.has_layer(diff_id)) tasks.push_back({i, diff_id});
  }
  // The largest first: the last thread then has little left to do.
  std::ranges::stable_sort(tasks, std::greater<>(), [&](const LayerTask& each) {
    return incoming.manifest.layers[each.index].size;
  });
  Intake intake(store, incoming, options, std::move(tasks));
  TRY(intake.run());
  image.name = full_image_name(options.name);
  image.manifest_digest = "sha256:" + sha256_hex(incoming.manifest_bytes);
  image.config_digest = incoming.manifest.config.digest;
  image.origin = options.origin;
  image.index_digest = options.index_digest;
  image.loaded_at = options.now;
  for (const BlobDescriptor& each : incoming.manifest.layers)
    image.packed_bytes += each.size;
  const auto facts = store.layer_facts(image.config.diff_ids);
  image.bytes = facts.bytes;
  image.notes = facts.notes;
  TRY(store.keep_blob(image.config_digest, incoming.config_bytes));
  TRY(store.keep_blob(image.manifest_digest, incoming.manifest_bytes));
  TRY(store.keep_image(image));
  return image;
}

}  // namespace yard
