// Manifests, indexes and configurations come from whoever runs the registry.
#include "images/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)yard::manifest_type(bytes);
  if (const auto manifest = yard::parse_manifest(bytes)) (void)yard::encode(*manifest);
  if (const auto index = yard::parse_index(bytes)) {
    (void)yard::choose_platform(*index, {"linux", "amd64", ""});
    (void)yard::encode(*index);
  }
  (void)yard::parse_config_file(bytes);
  (void)yard::layer_packing(bytes);
  return 0;
}
