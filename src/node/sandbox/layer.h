#pragma once
// The writable root of one run: a folder of its own over a skeleton that all containers share.
// Making thirty folders on the disk for each start, and removing them, took a millisecond each way.

#include <string>
#include <vector>

namespace shim {

struct Layer {
  std::string folder;       // afterwards the root
  std::string upper, work;  // of this run: what it writes, on the disk
  std::string points;       // in memory: where mount points are made that no skeleton has
  std::string skeleton;     // made once, by whoever finds it missing
};

// Folders and empty files over which volumes are mounted.
struct MountPoints {
  std::vector<std::string> folders, files;
  bool is_empty() const { return folders.empty() && files.empty(); }
};

// Makes it where it is missing.
bool have_skeleton(const std::string& skeleton, const std::vector<std::string>& host_folders);

// Mounts the root at `folder`. Where the kernel refuses the overlay `upper` itself is the root,
// and `over_skeleton` is false: what the skeleton has is made in it as needed. An empty text is
// success.
// The root has the mount points `missing` in the skeleton.
std::string mount_layer(const Layer& layer, const std::vector<std::string>& host_folders,
                        const MountPoints& missing, bool& over_skeleton);

std::string empty_folder(const std::string& skeleton);  // one that stays so

// Scripts call `python`; Debian has only python3. Once there it is left alone.
bool link_python(const std::string& root);

}  // namespace shim
