#pragma once
// A registry as a pull sees it (OCI distribution): manifests and blobs, over mirrors, logins,
// redirects, retries and cuts. Blocking, for the threads of a process that pulls; any thread,
// several at once. A call holds some 64 kB, whatever the size of what passes through.
//
// Errors are those of registry_fault.h: the fault, the registry's own words and the mend.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "images/manifest.h"
#include "images/registry/logins.h"
#include "images/registry/reference.h"
#include "images/registry/registry_config.h"
#include "net/blocking_time.h"
#include "net/web_client.h"

namespace yard {

struct FetchedManifest {
  std::string bytes, media_type, digest;
  std::string source;  // the mirror or registry it came from, host[:port]
};

struct TagDigest {
  std::string digest, source;
};

struct RegistrySetup {
  RegistryConfig config;
  std::vector<DockerConfig> logins;         // in the order they are tried
  std::vector<std::string> login_problems;  // said when a pull is refused
  AskHelper ask_helper;
  ProxySettings proxies;
  WebTimeouts timeouts;
  BlockingTime time;
};
// The real one: the Secrets of a pod, this user's files, helpers and proxies, the machine's clock.
RegistrySetup make_registry_setup(RegistryConfig config, const std::vector<PullSecret>& secrets);

class Registry {
 public:
  explicit Registry(RegistrySetup setup);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The manifest or index an image names, of one of these media types. Its digest is checked when
  // the image is asked for by digest, and against what the registry claims.
  Result<FetchedManifest> manifest(const ImageReference& image,
                                   std::span<const std::string> accepted_media_types);
  // The digest a tag has right now: whether it has moved. No body is fetched where the registry
  // can say it.
  Result<TagDigest> manifest_digest(const ImageReference& image,
                                    std::span<const std::string> accepted_media_types);
  // The bytes of a blob from `offset` on, in order; after a cut it goes on where it was. Exactly
  // `blob.size` - `offset` bytes reach the sink on success; their digest is the caller's to check,
  // who hashes them anyway. An error of the sink ends the call with that error.
  Result<void> blob(const ImageReference& image, const BlobDescriptor& blob, std::int64_t offset,
                    const std::function<Result<void>(std::string_view)>& sink);

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace yard
