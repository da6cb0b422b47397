#include "images/registry/registry.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "images/registry/credential_helper.h"
#include "images/registry/registry_fault.h"
#include "images/registry/registry_session.h"
#include "net/sha256.h"

namespace yard {
namespace {

constexpr std::int64_t kWorthResetting = 1
                                         << 20;  // bytes of progress that make a retry a first one

// `type/subtype` without its parameters.
std::string bare_type(std::string_view content_type) {
  return lower(trim(content_type.substr(0, content_type.find(';'))));
}

RegistryQuestion manifest_question(const ImageReference& image,
                                   std::span<const std::string> accepted) {
  RegistryQuestion question;
  question.path = fmt::format("manifests/{}", image.version());
  question.headers = {
      {"Accept", join(std::vector<std::string>(accepted.begin(), accepted.end()), ", ")}};
  question.most_kept = kMostManifestBytes;
  return question;
}

Result<FetchedManifest> checked_manifest(const RegistryRoute& route, const ImageReference& image,
                                         std::span<const std::string> accepted,
                                         ClientResponse response) {
  FetchedManifest out;
  const std::string claimed(trim(response.header("Docker-Content-Digest")));
  const std::string sent_type = bare_type(response.header("Content-Type"));
  out.bytes = std::move(response.body);
  out.digest = "sha256:" + sha256_hex(out.bytes);
  out.source = route.endpoint.name;
  const std::string what = fmt::format("{}/{}", route.endpoint.repository, image.version());
  for (const std::string& wanted : {image.digest, claimed}) {
    if (wanted.starts_with("sha256:") && wanted != out.digest)
      return registry_error(RegistryFault::DigestMismatch,
                            fmt::format("{} sends a manifest for {} whose digest is {} and not {}",
                                        out.source, what, out.digest, wanted));
  }
  // Plain file servers and some proxies know no better type than these.
  const bool is_vague = sent_type.empty() || sent_type == "application/json" ||
                        sent_type == "text/plain" || sent_type == "application/octet-stream";
  out.media_type = is_vague ? manifest_type(out.bytes) : sent_type;
  if (std::ranges::find(accepted, out.media_type) == accepted.end())
    return registry_error(
        RegistryFault::BadManifest,
        fmt::format(
            "{} has something else than an image for {}: {}", out.source, what,
            out.media_type.empty() ? "no manifest at all" : quoted(out.media_type.substr(0, 120))));
  return out;
}

// Where the bytes of one blob have come to, over all tries.
class BlobTransfer {
 public:
  BlobTransfer(const BlobDescriptor& blob, std::int64_t offset,
               const std::function<Result<void>(std::string_view)>& sink)
      : blob_(blob), sink_(sink), reached_(offset) {}

  std::int64_t reached() const { return reached_; }
  bool is_whole() const { return reached_ >= blob_.size && !is_too_long_; }
  const std::optional<Error>& sink_failure() const { return sink_failure_; }

  RegistryQuestion question() const {
    RegistryQuestion out;
    out.path = fmt::format("blobs/{}", blob_.digest);
    if (reached_ > 0) out.headers = {{"Range", fmt::format("bytes={}-", reached_)}};
    return out;
  }

  WebSink sink_for(const ClientResponse& head) {
    if (head.status == 200) {
      skip_ = reached_;  // it knows no ranges, and begins again
    } else if (head.status == 206 && begins_at(head) == reached_) {
      skip_ = 0;
    } else {
      return {};
    }
    return [this](std::string_view bytes) { return take(bytes); };
  }

 private:
  // `bytes 100-199/200`
  static std::int64_t begins_at(const ClientResponse& head) {
    std::string_view range = trim(head.header("Content-Range"));
    if (!range.starts_with("bytes ")) return -1;
    range.remove_prefix(6);
    return parse_int64(trim(range.substr(0, range.find('-')))).value_or(-1);
  }

  Result<void> take(std::string_view bytes) {
    const auto passed = std::min<std::int64_t>(skip_, static_cast<std::int64_t>(bytes.size()));
    skip_ -= passed;
    bytes.remove_prefix(static_cast<size_t>(passed));
    if (bytes.empty()) return {};
    is_too_long_ = static_cast<std::int64_t>(bytes.size()) > blob_.size - reached_;
    if (is_too_long_)
      return registry_error(RegistryFault::DigestMismatch,
                            fmt::format("{} has more than its {} bytes", blob_.digest, blob_.size));
    Result<void> taken = sink_(bytes);
    if (!taken) sink_failure_ = taken.error();
    if (taken) reached_ += static_cast<std::int64_t>(bytes.size());
    return taken;
  }

  const BlobDescriptor& blob_;
  const std::function<Result<void>(std::string_view)>& sink_;
  std::int64_t reached_, skip_ = 0;
  bool is_too_long_ = false;
  std::optional<Error> sink_failure_;
};

}  // namespace

RegistrySetup make_registry_setup(RegistryConfig config, const std::vector<PullSecret>& secrets) {
  RegistrySetup out;
  out.config = std::move(config);
  GatheredLogins gathered = gather_logins(secrets, login_files(environment_login_places()));
  out.logins = std::move(gathered.configs);
  out.login_problems = std::move(gathered.problems);
  out.time = real_blocking_time();
  out.ask_helper = [time = out.time](const HelperQuestion& question) {
    return ask_credential_helper(question, time);
  };
  out.proxies = environment_proxies();
  return out;
}

Registry::Registry(RegistrySetup setup) : session_(std::make_unique<Session>(std::move(setup))) {}
Registry::~Registry() = default;

Result<FetchedManifest> Registry::manifest(const ImageReference& image,
                                           std::span<const std::string> accepted_media_types) {
  const RegistryQuestion question = manifest_question(image, accepted_media_types);
  FetchedManifest out;
  Result<void> done = session_->along_routes(image, [&](const RegistryRoute& route) {
    return session_->with_retries(route, [&](int&) -> Result<void> {
      ClientResponse response = TRY(session_->send(route, question));
      if (response.status != 200)
        return session_->refusal(route, fmt::format("manifests/{}", image.version()), response);
      out = TRY(checked_manifest(route, image, accepted_media_types, std::move(response)));
      return {};
    });
  });
  if (!done) return std::move(done).error();
  return out;
}

Result<TagDigest> Registry::manifest_digest(const ImageReference& image,
                                            std::span<const std::string> accepted_media_types) {
  RegistryQuestion question = manifest_question(image, accepted_media_types);
  question.method = "HEAD";
  TagDigest out;
  Result<void> done = session_->along_routes(image, [&](const RegistryRoute& route) {
    return session_->with_retries(route, [&](int&) -> Result<void> {
      const ClientResponse response = TRY(session_->send(route, question));
      // Some servers answer only GET; who says nothing of a digest is asked for the bytes below.
      if (response.status == 405 || response.status == 501) return {};
      if (response.status != 200)
        return session_->refusal(route, fmt::format("manifests/{}", image.version()), response);
      out = {std::string(trim(response.header("Docker-Content-Digest"))), route.endpoint.name};
      return {};
    });
  });
  if (!done) return std::move(done).error();
  if (is_digest(out.digest)) return out;
  FetchedManifest fetched = TRY(manifest(image, accepted_media_types));
  return TagDigest{std::move(fetched.digest), std::move(fetched.source)};
}

Result<void> Registry::blob(const ImageReference& image, const BlobDescriptor& blob,
                            std::int64_t offset,
                            const std::function<Result<void>(std::string_view)>& sink) {
  BlobTransfer transfer(blob, offset, sink);
  if (transfer.is_whole()) return {};
  Result<void> done =
      session_->along_routes(image, [&](const RegistryRoute& route) -> Result<void> {
        if (transfer.sink_failure()) return *transfer.sink_failure();
        return session_->with_retries(route, [&](int& failures) -> Result<void> {
          if (transfer.sink_failure()) return *transfer.sink_failure();
          const std::int64_t before = transfer.reached();
          auto response =
              session_->send(route, transfer.question(),
                             [&](const ClientResponse& head) { return transfer.sink_for(head); });
          if (transfer.is_whole()) return {};
          if (transfer.reached() - before >= kWorthResetting) failures = 0;
          if (!response) {
            Error failure = std::move(response).error();
            if (transfer.reached() > 0)
              failure.message = fmt::format("{} is cut off after {} of {} bytes: {}", blob.digest,
                                            transfer.reached(), blob.size, failure.message);
            return failure;
          }
          if (response->status != 200 && response->status != 206)
            return session_->refusal(route, fmt::format("blobs/{}", blob.digest), *response);
          return registry_error(RegistryFault::Unavailable,
                                fmt::format("{} ends {} after {} of {} bytes", route.endpoint.name,
                                            blob.digest, transfer.reached(), blob.size));
        });
      });
  if (transfer.sink_failure()) return *transfer.sink_failure();
  return done;
}

}  // namespace yard
