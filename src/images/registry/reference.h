#pragma once
// The name of an image, read as the tools of the trade read it (distribution/reference v0.6): what
// is left unsaid is the default registry, `library/` and, when something is pulled, `:latest`.
// Pure.

#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

// The registry of names without one. It answers at another name than it is called by, and logins
// are kept under a third.
inline constexpr std::string_view kDefaultRegistry = "docker.io";
std::string default_registry_host();           // where its API is
std::string default_registry_login();          // its older name, also read in image names
std::string default_registry_login_address();  // the key of a login in docker's files

struct ImageReference {
  std::string registry;    // docker.io, localhost:5000, [::1]:5000
  std::string repository;  // library/busybox
  std::string tag;         // "" when not said
  std::string digest;      // "" when not said; goes before the tag

  std::string name() const;  // registry/repository
  std::string text() const;  // with tag and digest, as far as they are said
  // What a manifest is asked by: digest, tag or latest.
  std::string_view version() const;

  friend bool operator==(const ImageReference&, const ImageReference&) = default;
};

// Invalid with the words of the tools when the text names no image.
Result<ImageReference> parse_reference(std::string_view text);

}  // namespace yard
