// A layer as it comes, packed or plain, into a folder of its own: nothing beside that folder
// appears, and all of it can be removed again.
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "images/layer_intake.h"
#include "images/summed_tar_testing.h"

namespace {

namespace fs = std::filesystem;

// In memory, for as long as the fuzzer runs.
struct FolderOfAll {
  FolderOfAll() { yard::check(::mkdtemp(path.data()) != nullptr, "there is memory for files"); }
  ~FolderOfAll() { (void)yard::remove_tree(path); }
  std::string path = "/dev/shm/yard-layer-fuzz-XXXXXX";
};

const std::string& folder_of_all() {
  static const FolderOfAll kFolder;
  return kFolder.path;
}

bool is_alone(const std::string& folder, const std::string& name) {
  for (const fs::directory_entry& each : fs::directory_iterator(folder))
    if (each.path().filename() != name) return false;
  return true;
}

void unpack(std::string_view bytes) {
  const std::string layer = folder_of_all() + "/layer";
  yard::check(::mkdir(layer.c_str(), 0755) == 0 && ::mkdir((layer + "/r").c_str(), 0755) == 0,
              "the last one is gone");
  {
    yard::LayerIntake intake(layer, {.entries = 100, .bytes = 1 << 20});
    if (intake.feed(bytes)) (void)intake.finish();
  }
  yard::check(is_alone(folder_of_all(), "layer") && is_alone(layer, "r"),
              "a layer stays in its folder");
  yard::check(static_cast<bool>(yard::remove_tree(layer)), "what it wrote can be removed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  unpack(bytes);
  unpack(yard::with_sums(std::string(bytes)));
  return 0;
}
