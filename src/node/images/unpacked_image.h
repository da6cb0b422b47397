#pragma once
// An image that lies unpacked on this machine, as its containers need it. Immutable once made.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "images/stored_image.h"

namespace yard {

// A line of the image's own /etc/passwd and /etc/group.
struct ImageUser {
  std::string name, home;
  std::int64_t uid = 0, gid = 0;
};
struct ImageGroup {
  std::string name;
  std::int64_t gid = 0;
  std::vector<std::string> members;
};

struct UnpackedImage {
  std::string layers_folder;  // where `layers` are, the uppermost first
  std::vector<std::string> layers;
  std::string user, stop_signal, id;
  std::vector<std::string> volumes;
  std::int64_t bytes = 0;
  ImageOrigin origin = ImageOrigin::Loaded;
  std::vector<ImageUser> users;
  std::vector<ImageGroup> groups;
};

std::vector<ImageUser> parse_users(std::string_view passwd);
std::vector<ImageGroup> parse_groups(std::string_view group);

// Who a container of the image is: what the YAML says, else what the image does.
struct ImageIdentity {
  std::int64_t uid = 0, gid = 0;
  std::vector<std::int64_t> groups;  // besides
  std::string home = "/";
};
struct AskedIdentity {
  std::optional<std::int64_t> user, group;  // runAsUser, runAsGroup
};
Result<ImageIdentity> image_identity(const UnpackedImage& image, const AskedIdentity& asked);

// Whether the image alone says that its containers are not root; the problem in kubelet's words.
std::string non_root_problem(const UnpackedImage& image);

}  // namespace yard
