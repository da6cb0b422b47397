#pragma once
// The files of this machine's NVIDIA driver that a container with a GPU needs and no image can
// bring: they must be of the very version of the kernel's module.

#include <string>
#include <string_view>
#include <vector>

namespace yard {

// Where containers of images see the libraries.
inline constexpr std::string_view kDriverFolder = "/usr/local/nvidia/lib64";

struct DriverFile {
  std::string source, target;
  bool is_library = false;
};

bool is_driver_library(std::string_view name);  // libcuda.so.1, libnvidia-ml.so.1 …
// From the folders of a machine; the first folder that has a name wins. Pure but for the disk.
std::vector<DriverFile> driver_files_in(const std::vector<std::string>& library_folders,
                                        const std::vector<std::string>& program_folders);
// Where a machine has them: LD_LIBRARY_PATH first, as its loader does.
std::vector<std::string> library_folders(std::string_view library_path);
// Of this machine, looked for once; empty without a driver.
const std::vector<DriverFile>& driver_files();

}  // namespace yard
