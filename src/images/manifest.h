#pragma once
// What an image is made of: manifests, indexes and configurations, read from bytes that anybody may
// have written. OCI's media types and Docker's schema 2 say the same things under two names. Pure.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace yard {

// Bytes named by what they hold: `digest` is `sha256:` and 64 hexadecimal digits.
struct BlobDescriptor {
  std::string media_type, digest;
  std::int64_t size = 0;
};

// How a layer's tar stream is packed, as its media type says.
enum class LayerPacking { None, Gzip, Zstd };
Result<LayerPacking> layer_packing(std::string_view media_type);

struct Platform {
  std::string os, architecture, variant;
};
// What this machine runs: linux, and the architecture in images' words (amd64, arm64).
Platform machine_platform();

struct ImageManifest {
  BlobDescriptor config;
  std::vector<BlobDescriptor> layers;  // the lowest first
};

struct IndexEntry {
  BlobDescriptor manifest;
  Platform platform;
  std::map<std::string, std::string> annotations;
};
struct ImageIndex {
  std::vector<IndexEntry> manifests;
};

// The part of an image's configuration that decides how its containers run.
struct ImageConfigFile {
  Platform platform;
  std::vector<std::string> env;  // NAME=value
  std::vector<std::string> entrypoint, command;
  std::string working_folder, user, stop_signal;
  std::vector<std::string> volumes;
  std::map<std::string, std::string> labels;
  std::vector<std::string> diff_ids;  // digests of the unpacked tar streams, the lowest first
};

namespace media_types {
inline constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kOciConfig = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view kOciLayer = "application/vnd.oci.image.layer.v1.tar";
inline constexpr std::string_view kDockerManifest =
    "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kDockerIndex =
    "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr std::string_view kDockerConfig = "application/vnd.docker.container.image.v1+json";
}  // namespace media_types

// Every manifest or index we read: what a registry is told we accept.
std::span<const std::string> accepted_manifests();
bool is_index_type(std::string_view media_type);
bool is_manifest_type(std::string_view media_type);

inline constexpr std::size_t kMostManifestBytes = 4u << 20, kMostConfigFileBytes = 8u << 20;

// What the bytes call themselves: `mediaType`, else told by their members (`manifests` or
// `layers`); "" when they are neither. A registry's Content-Type goes before this.
std::string manifest_type(std::string_view bytes);
// Bounded in size, depth and counts; every digest is well formed, every size is sane.
Result<ImageManifest> parse_manifest(std::string_view bytes);
Result<ImageIndex> parse_index(std::string_view bytes);
Result<ImageConfigFile> parse_config_file(std::string_view bytes);

std::string encode(const ImageManifest& manifest);
std::string encode(const ImageIndex& index);

// `sha256:` and 64 digits: nothing else names a file of ours.
bool is_digest(std::string_view digest);
std::string_view digest_hex(std::string_view digest);

// The entry for the platform; attestations and other entries of no platform are passed over unless
// the index has a single entry. The error names what there is.
Result<BlobDescriptor> choose_platform(const ImageIndex& index, const Platform& wanted);

}  // namespace yard
